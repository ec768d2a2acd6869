"""Host operations on text and errors."""

from __future__ import annotations

import builtins
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

from runtime_py.errors import BundleError

# A literal text, or (operand index, conversion "" / "r" / "s" / "a", format spec).
Part: TypeAlias = "str | tuple[int, str, str]"
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"": lambda x: x, "r": repr, "s": str, "a": ascii}


def format_(*scalars: Any, parts: tuple[Part, ...]) -> str:
    """An f-string: ``parts`` joined, operands formatted as Python does."""
    return "".join(part if isinstance(part, str) else _formatted(scalars, *part) for part in parts)


def _formatted(scalars: tuple[Any, ...], index: int, conversion: str, spec: str) -> str:
    return format(_CONVERSIONS[conversion](scalars[index]), spec)


def concat(*texts: str) -> str:
    """The texts, one after the other."""
    return "".join(texts)


def print_(text: str, end: str = "\n") -> None:
    """Writes to standard output."""
    sys.stdout.write(text + end)


def warn(text: str, category: str = "UserWarning") -> None:
    """Issues a warning of the built-in class ``category`` (of UserWarning if there is none of that name)."""
    cls = getattr(builtins, category, UserWarning)
    warnings.warn(text, cls, stacklevel=2)


def exception_type(name: str) -> type[BaseException]:
    """The built-in exception of that name. Raises ``BundleError`` RT106 if there is none."""
    cls = getattr(builtins, name, None)
    if not (isinstance(cls, type) and issubclass(cls, BaseException)):
        raise BundleError("RT106", f"the host program raises {name!r}, which is no built-in exception")
    return cls


def check(condition: bool, exception: str, text: str) -> None:
    """Raises the built-in ``exception`` with ``text`` unless ``condition`` holds."""
    if not condition:
        raise exception_type(exception)(*((text,) if text else ()))
