"""Instances of the user's classes in results: the real class where it can be imported, else a stand-in."""

from __future__ import annotations

import collections
import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["namedtuple", "dataclass", "plain"]


def make_object(kind: Kind, module: str, qualname: str, fields: dict[str, Any]) -> Any:
    """An instance with these attribute values: made by calling the class, "plain" ones without its ``__init__``."""
    names = tuple(fields)
    cls = _imported(module, qualname) or _stand_in(kind, module, qualname, names)
    if kind == "plain":
        made = object.__new__(cls)
        made.__dict__.update(fields)
        return made
    if kind == "namedtuple":
        return cls(**fields)
    return _make_dataclass(cls, fields)


def _make_dataclass(cls: type[Any], fields: dict[str, Any]) -> Any:
    taken = {f.name for f in dataclasses.fields(cls) if f.init}
    made = cls(**{k: v for k, v in fields.items() if k in taken})
    for name in fields.keys() - taken:
        object.__setattr__(made, name, fields[name])
    return made


@functools.cache
def _imported(module: str, qualname: str) -> type[Any] | None:
    try:
        found: Any = importlib.import_module(module)
        for name in qualname.split("."):
            found = getattr(found, name)
    # A class of a script or of a function, or one whose module fails here: any of these means "not importable".
    except Exception:
        return None
    return found if isinstance(found, type) else None


@functools.cache
def _stand_in(kind: Kind, module: str, qualname: str, names: tuple[str, ...]) -> type[Any]:
    name = qualname.rpartition(".")[2]
    makers: dict[Kind, Callable[[], Any]] = {
        "namedtuple": lambda: collections.namedtuple(name, names),
        "dataclass": lambda: dataclasses.make_dataclass(name, names),
        "plain": lambda: type(name, (), {}),
    }
    cls: type[Any] = makers[kind]()
    cls.__module__, cls.__qualname__ = module, qualname
    return cls
