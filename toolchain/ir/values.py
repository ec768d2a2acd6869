"""Values, constants and source locations: the leaves that operations refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from toolchain.ir.types import TensorType, Type


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the user's source: absolute file name, 1-based line, 0-based column, enclosing function."""

    file: str
    line: int
    column: int = 0
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


UNKNOWN_LOCATION = Location("<unknown>", 0)


@dataclass(frozen=True, slots=True)
class Value:
    """An SSA value: defined once, as a block argument or as the result of an operation. Equal by ``id`` alone."""

    id: int
    type: Type = field(compare=False)
    name: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"%{self.id}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A tensor of the program that no call changes (a weight): ``Program.constants[name]``."""

    name: str
    type: TensorType = field(compare=False)

    def __str__(self) -> str:
        return f"@{self.name}"


# What an operation can take. Besides values and constants: Python literals (None, bool, int, float, str),
# torch.dtype / torch.memory_format / torch.layout / torch.device objects, and (nested) tuples and slices of all these.
Argument: TypeAlias = Any
# What crosses block borders, leaves a program, or feeds a host operation: never a nested tuple.
Operand: TypeAlias = "Value | Constant | int | float | bool | str | None"


def map_argument(arg: Argument, leaf: Callable[[Any], Any]) -> Argument:
    """Rebuilds ``arg`` with ``leaf`` applied to everything that is not a tuple, list or dict."""
    if isinstance(arg, (tuple, list)):
        return tuple(map_argument(a, leaf) for a in arg)
    if isinstance(arg, dict):
        return {k: map_argument(v, leaf) for k, v in arg.items()}
    return leaf(arg)


def leaves(arg: Argument) -> Iterator[Any]:
    """All leaves of a (nested) argument, left to right."""
    found: list[Any] = []
    _collect((arg,), found)
    return iter(found)


def _collect(arguments: Iterable[Argument], found: list[Any]) -> None:
    # A list, not a chain of generators: passes spend most of their time here.
    for arg in arguments:
        if isinstance(arg, (tuple, list)):
            _collect(arg, found)
        elif isinstance(arg, dict):
            _collect(arg.values(), found)
        else:
            found.append(arg)


def values_in(arg: Argument) -> Iterator[Value]:
    return (x for x in leaves(arg) if isinstance(x, Value))


def constants_in(arg: Argument) -> Iterator[Constant]:
    return (x for x in leaves(arg) if isinstance(x, Constant))
