"""From example calls to entry points: which leaves are inputs, which dims vary, which constants select an entry."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from toolchain.diagnostics import UsageError
from toolchain.frontend.constants import dtype_name
from toolchain.frontend.context import Staged, scalar_type
from toolchain.frontend.machine.border import StagedSize
from toolchain.frontend.staged import HostList, StagedObject, operand_of
from toolchain.ir import (
    EntryPoint,
    InputDim,
    InputLeaf,
    Leaf,
    Mapping,
    Object,
    Structure,
    TensorType,
    Value,
    structure_leaves,
)
from toolchain.ir import Sequence as SequenceStructure


@dataclass(frozen=True, slots=True)
class Dynamic:
    """Marks a Python number in an example as a run-time input instead of a constant of the entry."""

    value: int | float | bool


@dataclass(frozen=True, slots=True)
class Call:
    """One example call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


LeafMaker = Callable[[Any, str], Any]


def structure_of(value: Any, leaf: LeafMaker, name: str = "") -> Structure:
    """The pytree of ``value``; ``leaf`` maps a tensor, scalar or host list to its operand."""
    if isinstance(value, StagedObject):
        raise TypeError("a value that only the host program has: convert it with int(), float() or str()")
    if (
        isinstance(value, (torch.Tensor, Staged, HostList, Dynamic))
        or value is None
        or isinstance(value, (bool, int, float, str))
    ):
        return Leaf(leaf(value, name))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        items = tuple(structure_of(v, leaf, f"{name}.{f}") for f, v in zip(value._fields, value, strict=True))
        return Object("namedtuple", type(value).__module__, type(value).__qualname__, tuple(value._fields), items)
    if isinstance(value, (tuple, list)):
        kind = "list" if isinstance(value, list) else "tuple"
        if isinstance(value, (torch.Size, StagedSize)):
            kind = "size"
        return SequenceStructure(kind, tuple(structure_of(v, leaf, f"{name}[{n}]") for n, v in enumerate(value)))  # type: ignore[arg-type]
    if isinstance(value, dict):
        return Mapping(tuple(value), tuple(structure_of(v, leaf, f"{name}[{k!r}]") for k, v in value.items()))
    if isinstance(value, (set, frozenset)):
        return SequenceStructure("set", tuple(structure_of(v, leaf, name) for v in sorted(value, key=repr)))
    return _object(value, leaf, name)


def _object(value: Any, leaf: LeafMaker, name: str) -> Structure:
    kind = type(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = tuple(f.name for f in dataclasses.fields(value))
        items = tuple(structure_of(getattr(value, f), leaf, f"{name}.{f}") for f in fields)
        return Object("dataclass", kind.__module__, kind.__qualname__, fields, items)
    if hasattr(value, "__dict__") and kind.__module__ not in ("builtins", "numpy", "torch") and not callable(value):
        fields = tuple(vars(value))
        items = tuple(structure_of(v, leaf, f"{name}.{f}") for f, v in vars(value).items())
        return Object("plain", kind.__module__, kind.__qualname__, fields, items)
    raise TypeError(f"a {kind.__module__}.{kind.__qualname__} cannot cross the border of a compiled program")


def rebuild(value: Any, leaf: LeafMaker, name: str = "") -> Any:
    """A copy of ``value`` with its tensors and ``Dynamic`` leaves replaced by what ``leaf`` returns."""
    if isinstance(value, (torch.Tensor, Dynamic)):
        return leaf(value, name)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(rebuild(v, leaf, f"{name}.{f}") for f, v in zip(value._fields, value, strict=True)))
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(rebuild(v, leaf, f"{name}[{n}]") for n, v in enumerate(value))
    if isinstance(value, dict):
        return {k: rebuild(v, leaf, f"{name}[{k!r}]") for k, v in value.items()}
    if hasattr(value, "__dict__") and not callable(value) and not isinstance(value, type):
        made = copy.copy(value)
        for field, content in vars(value).items():
            object.__setattr__(made, field, rebuild(content, leaf, f"{name}.{field}"))
        return made
    return value


def argument_names(function: Callable[..., Any], call: Call) -> list[str]:
    """The names of the positional arguments of ``call``."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for n in range(len(call.args)):
        parameter = parameters[n] if n < len(parameters) else None
        if parameter is None or parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names.append(f"args[{n}]")
        else:
            names.append(parameter.name)
    return names


def walk(call: Call, names: Sequence[str], leaf: LeafMaker) -> Structure:
    """The structure of a call: a tuple of the positional arguments and the dict of the others."""
    args = tuple(structure_of(a, leaf, n) for a, n in zip(call.args, names, strict=True))
    kwargs = tuple(structure_of(v, leaf, k) for k, v in call.kwargs.items())
    return SequenceStructure("tuple", (SequenceStructure("tuple", args), Mapping(tuple(call.kwargs), kwargs)))


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry point and the example that it is explored with."""

    point: EntryPoint
    example: Call


def make_entries(
    function: Callable[..., Any], calls: Sequence[Call], new_value: Callable[[Any, str], Value]
) -> list[Entry]:
    """One entry per distinct structure of the examples. Raises UsageError for arguments that cannot be passed."""
    groups: dict[Any, list[Call]] = {}
    for call in calls:
        groups.setdefault(_group_key(function, call), []).append(call)
    return [_entry(f"entry{n}", function, group, new_value) for n, group in enumerate(groups.values())]


def _group_key(function: Callable[..., Any], call: Call) -> Any:
    def leaf(value: Any, name: str) -> Any:
        if isinstance(value, torch.Tensor):
            return ("tensor", value.dtype, value.dim())
        if isinstance(value, Dynamic):
            return ("dynamic", type(value.value))
        return (type(value), repr(value))

    try:
        return walk(call, argument_names(function, call), leaf)
    except TypeError as error:
        raise UsageError(
            "TC210", f"an example has an argument that cannot be passed: {error}", "pass tensors and Python values"
        ) from error


def _entry(name: str, function: Callable[..., Any], calls: list[Call], new_value: Callable[[Any, str], Value]) -> Entry:
    names = argument_names(function, calls[0])
    rows: list[list[Any]] = []
    for call in calls:
        row: list[Any] = []
        walk(call, names, lambda v, n, row=row: row.append(v) if isinstance(v, (torch.Tensor, Dynamic)) else None)  # type: ignore[misc]
        rows.append(row)
    columns = list(zip(*rows, strict=True))
    inputs: list[InputLeaf] = []

    def leaf(value: Any, path: str) -> Any:
        if not isinstance(value, (torch.Tensor, Dynamic)):
            return value
        inputs.append(_input(path, columns[len(inputs)]))
        return new_value(inputs[-1].type, path)

    return Entry(EntryPoint(name, walk(calls[0], names, leaf), tuple(inputs)), calls[0])


def _input(name: str, column: tuple[Any, ...]) -> InputLeaf:
    first = column[0]
    if isinstance(first, Dynamic):
        return InputLeaf(name, scalar_type(first.value), None)
    dims = tuple(
        InputDim(sizes[0] if len(set(sizes)) == 1 else None)
        for sizes in zip(*(tuple(t.shape) for t in column), strict=True)
    )
    return InputLeaf(name, TensorType(dtype_name(first.dtype), tuple(d.size for d in dims)), dims)


def input_values(entry: EntryPoint) -> tuple[Value, ...]:
    """The values of the entry's inputs, in order."""
    return tuple(v for v in structure_leaves(entry.signature) if isinstance(v, Value))


__all__ = ["Call", "Dynamic", "Entry", "input_values", "make_entries", "operand_of", "rebuild", "structure_of"]
