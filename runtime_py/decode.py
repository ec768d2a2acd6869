"""Strict JSON decoding into the dataclasses of ``runtime_py.format``, driven by their type hints."""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from typing import Any, TypeVar

from runtime_py.errors import BundleError

T = TypeVar("T")

# Far above what programs need, far below what the interpreter's stack holds.
_MAX_DEPTH = 200


def decode(data: bytes, cls: type[T], what: str) -> T:
    """An object of ``cls`` from JSON text; ``what`` names the file in errors.

    Raises ``BundleError`` RT102: no JSON, unknown or missing fields, wrong types, or nesting deeper than 200 levels.
    """
    try:
        tree = json.loads(data, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _malformed(what, f"not valid JSON ({error})") from error
    return typing.cast(T, _object(tree, cls, what, 0))


def _no_constant(text: str) -> object:
    raise ValueError(f"{text} is not JSON")


def _malformed(where: str, problem: str) -> BundleError:
    return BundleError("RT102", f"{where}: {problem}", "build the bundle again, with the toolchain of this runtime")


@functools.cache
def _fields(cls: type) -> dict[str, tuple[Any, bool]]:
    """Field name to (type hint, whether it may be left out)."""
    hints = typing.get_type_hints(cls)
    return {f.name: (hints[f.name], f.default is not dataclasses.MISSING) for f in dataclasses.fields(cls)}


def _object(tree: object, cls: type, where: str, depth: int) -> object:
    if not isinstance(tree, dict):
        raise _malformed(where, f"expected an object, found {_shown(tree)}")
    known = _fields(cls)
    if unknown := tree.keys() - known.keys():
        raise _malformed(where, f"unknown field {min(unknown)!r}")
    if missing := [name for name, (_, optional) in known.items() if not optional and name not in tree]:
        raise _malformed(where, f"missing field {missing[0]!r}")
    return cls(**{name: _value(tree[name], known[name][0], f"{where}.{name}", depth + 1) for name in tree})


def _value(tree: object, hint: Any, where: str, depth: int) -> object:
    if depth > _MAX_DEPTH:
        raise _malformed(where, f"nested deeper than {_MAX_DEPTH} levels")
    if dataclasses.is_dataclass(hint):
        return _object(tree, typing.cast(type, hint), where, depth)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return _sequence(tree, arguments[0], where, depth)
    if origin is dict:
        return _mapping(tree, arguments[1], where, depth)
    if origin is typing.Literal:
        return _choice(tree, arguments, where)
    if origin is types.UnionType:
        return None if tree is None else _value(tree, arguments[0], where, depth)
    # bool is an int to isinstance, but not to us.
    if type(tree) is not hint:
        raise _malformed(where, f"expected {hint.__name__}, found {_shown(tree)}")
    return tree


def _choice(tree: object, choices: tuple[object, ...], where: str) -> object:
    if not isinstance(tree, str) or tree not in choices:
        raise _malformed(where, f"expected one of {', '.join(map(repr, choices))}, found {_shown(tree)}")
    return tree


def _sequence(tree: object, item: Any, where: str, depth: int) -> tuple[object, ...]:
    if not isinstance(tree, list):
        raise _malformed(where, f"expected a list, found {_shown(tree)}")
    return tuple(_value(x, item, f"{where}[{i}]", depth + 1) for i, x in enumerate(tree))


def _mapping(tree: object, item: Any, where: str, depth: int) -> dict[str, object]:
    if not isinstance(tree, dict):
        raise _malformed(where, f"expected an object, found {_shown(tree)}")
    return {key: _value(x, item, f"{where}[{key!r}]", depth + 1) for key, x in tree.items()}


def _shown(tree: object) -> str:
    text = repr(tree)
    return text if len(text) <= 60 else text[:57] + "..."
