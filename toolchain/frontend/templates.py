"""What the elements of a host list look like: all of one kind, tensors of one dtype and rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend import torch_adapter
from toolchain.frontend.constants import dtype_name
from toolchain.frontend.signals import Origin
from toolchain.frontend.staged import Staged, operand_of, scalar_type, wrap
from toolchain.ir import Operand, ScalarType, TensorType, Type, Value

if TYPE_CHECKING:
    from toolchain.frontend.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Template:
    """parts: one type per operand of an element; arity: 0 for a plain element, else the length of the tuple.

    kinds: "tuple" or "list" for what the program sees.
    """

    parts: tuple[Type, ...]
    arity: int
    kind: str = "tuple"

    def accepts(self, value: Any) -> bool:
        other = template_of(value, strict=False)
        return other is not None and self.same(other)

    def same(self, other: Template) -> bool:
        return self.arity == other.arity and self.kind == other.kind and all(map(_fits, self.parts, other.parts))

    def join(self, other: Template) -> Template | None:
        """The template for elements of either."""
        if self.arity != other.arity or self.kind != other.kind:
            return None
        parts = tuple(_join(a, b) for a, b in zip(self.parts, other.parts, strict=True))
        return None if None in parts else Template(parts, self.arity, self.kind)  # type: ignore[arg-type]


def _fits(wide: Type, narrow: Type) -> bool:
    if isinstance(wide, TensorType) and isinstance(narrow, TensorType):
        same_dims = wide.rank == narrow.rank and all(
            w is None or w == n for w, n in zip(wide.dims, narrow.dims, strict=True)
        )
        return wide.dtype == narrow.dtype and same_dims
    return wide == narrow


def _join(a: Type, b: Type) -> Type | None:
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        if a.dtype != b.dtype or a.rank != b.rank:
            return None
        return TensorType(a.dtype, tuple(x if x == y else None for x, y in zip(a.dims, b.dims, strict=True)))
    return a if a == b else None


def template_of(value: Any, strict: bool = True) -> Template | None:
    """The template that ``value`` is an instance of. Raises TypeError (strict) where there is none."""
    parts = value if isinstance(value, (tuple, list)) else (value,)
    types = [_part_type(p) for p in parts]
    if None in types or (
        isinstance(value, (tuple, list)) and type(value) is not tuple
    ):  # lists can change, named tuples are others
        if strict:
            raise TypeError(f"an element of type {type(value).__name__} cannot be kept in a list of unknown length")
        return None
    arity = len(parts) if isinstance(value, (tuple, list)) else 0
    return Template(tuple(types), arity, "list" if isinstance(value, list) else "tuple")  # type: ignore[arg-type]


def _part_type(part: Any) -> Type | None:
    if isinstance(part, torch.Tensor):
        dims = tuple(n if isinstance(n, int) else None for n in part.shape)
        return TensorType(dtype_name(part.dtype), dims)
    if isinstance(part, (bool, int, float, str, Staged)):
        return scalar_type(part)
    return None


def element_types(template: Template) -> tuple[Type, ...]:
    return template.parts


def element_operands(recorder: Recorder, value: Any) -> tuple[Operand, ...]:
    parts = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(recorder.value_of(p) if isinstance(p, torch.Tensor) else operand_of(p) for p in parts)


def make_element(recorder: Recorder, template: Template, results: tuple[Value, ...], origins: frozenset[Origin]) -> Any:
    """The element that the program sees, from the operands that hold it."""
    parts = [make_part(recorder, t, r) for t, r in zip(template.parts, results, strict=True)]
    for part in parts:
        share(recorder, part, origins)
    if not template.arity:
        return parts[0]
    return parts if template.kind == "list" else tuple(parts)


def make_part(recorder: Recorder, type_: Type, operand: Operand) -> Any:
    if isinstance(type_, ScalarType):
        return wrap(operand, type_, True)
    assert isinstance(type_, TensorType)
    shape = tuple(fresh_extent(recorder) if d is None else d for d in type_.dims)
    return recorder.new_tensor(shape, getattr(torch, type_.dtype), operand)


def share(recorder: Recorder, part: Any, origins: frozenset[Origin]) -> None:
    """A tensor in a host list: the list keeps its contents, so changing it in place would go unnoticed there."""
    if isinstance(part, torch.Tensor):
        storage = recorder.view_of(part).storage
        conflicts = recorder.state.conflicts
        conflicts[storage] = conflicts.get(storage, frozenset()) | origins


def fresh_extent(recorder: Recorder) -> torch.SymInt:
    extent = torch_adapter.new_int(recorder.fake_mode)
    torch_adapter.forget_fresh_symbols(recorder.fake_mode)
    recorder.state.facts.declare(torch_adapter.expression_of(extent), 0)
    return extent
