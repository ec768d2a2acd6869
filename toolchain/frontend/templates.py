"""What the elements of a host list look like: all of one kind, tensors of one dtype and rank, lists of one kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend import torch_adapter
from toolchain.frontend.constants import dtype_name
from toolchain.frontend.context import Staged, scalar_type
from toolchain.frontend.signals import Origin
from toolchain.frontend.staged import HostList, operand_of, wrap
from toolchain.ir import ListType, Operand, ScalarType, TensorType, TupleType, Type, Value

if TYPE_CHECKING:
    from toolchain.frontend.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Template:
    """parts: one type per operand of an element; arity: 0 for a plain element, else the length of the tuple."""

    parts: tuple[Type, ...]
    arity: int

    def join(self, other: Template) -> Template | None:
        """The template for elements of either."""
        if self.arity != other.arity:
            return None
        parts = tuple(_join(a, b) for a, b in zip(self.parts, other.parts, strict=True))
        return None if None in parts else Template(parts, self.arity)  # type: ignore[arg-type]


def _join(a: Type, b: Type) -> Type | None:
    match a, b:
        case TensorType(), TensorType():
            if a.dtype != b.dtype or a.rank != b.rank:
                return None
            return TensorType(a.dtype, tuple(x if x == y else None for x, y in zip(a.dims, b.dims, strict=True)))
        case ListType(element=None), ListType():
            return b
        case ListType(), ListType(element=None):
            return a
        case ListType(), ListType():
            element = _join(a.element, b.element)  # type: ignore[arg-type]
            return None if element is None else ListType(element)
        case TupleType(), TupleType() if len(a.elements) == len(b.elements):
            parts = tuple(map(_join, a.elements, b.elements))
            return None if None in parts else TupleType(parts)  # type: ignore[arg-type]
        case _:
            return a if a == b else None


def template_of(value: Any) -> Template | None:
    """The template that ``value`` is an instance of; None if it cannot be in a host list."""
    is_tuple = type(value) is tuple  # named tuples are something else
    if is_tuple and len(value) < 2:
        return None  # its elements, one or none, could not be told from a plain element
    types = [_part_type(p) for p in (value if is_tuple else (value,))]
    return None if None in types else Template(tuple(types), len(value) if is_tuple else 0)  # type: ignore[arg-type]


def _part_type(part: Any) -> Type | None:
    if isinstance(part, torch.Tensor):
        dims = tuple(n if isinstance(n, int) else None for n in part.shape)
        return TensorType(dtype_name(part.dtype), dims)
    if isinstance(part, (bool, int, float, str, Staged)):
        return scalar_type(part)
    if isinstance(part, HostList):
        return list_type_of(part.template)
    if type(part) is list:
        fits, template = common_template(part)
        return list_type_of(template) if fits else None
    return None


def common_template(values: Any, template: Template | None = None) -> tuple[bool, Template | None]:
    """Whether ``values`` (and elements of ``template``) can be in one host list, and the template of its elements."""
    for value in values:
        found = template_of(value)
        template = found if template is None or found is None else template.join(found)
        if template is None:
            return False, None
    return True, template


def list_type_of(template: Template | None) -> ListType:
    if template is None:
        return ListType(None)
    return ListType(TupleType(template.parts) if template.arity else template.parts[0])


def _template_in(type_: ListType) -> Template | None:
    element = type_.element
    if isinstance(element, TupleType):
        return Template(element.elements, len(element.elements))
    return None if element is None else Template((element,), 0)


ListMaker = Callable[[Template | None, tuple[Operand, ...]], Operand]
"""Emits the operation that makes a host list of operands."""


def list_operand(recorder: Recorder, values: Any, template: Template | None, make: ListMaker) -> Operand:
    """The host list with the elements ``values``."""
    return make(template, tuple(o for v in values for o in element_operands(recorder, v, make)))


def element_operands(recorder: Recorder, value: Any, make: ListMaker) -> tuple[Operand, ...]:
    return tuple(_operand(recorder, p, make) for p in (value if type(value) is tuple else (value,)))


def _operand(recorder: Recorder, part: Any, make: ListMaker) -> Operand:
    if isinstance(part, torch.Tensor):
        return recorder.value_of(part)
    if type(part) is list:
        return list_operand(recorder, part, common_template(part)[1], make)
    return operand_of(part)  # type: ignore[no-any-return]


def make_element(recorder: Recorder, template: Template, results: tuple[Value, ...], origins: frozenset[Origin]) -> Any:
    """The element that the program sees, from the operands that hold it."""
    parts = tuple(make_part(recorder, t, r, origins) for t, r in zip(template.parts, results, strict=True))
    for part in parts:
        share(recorder, part, origins)
    return parts if template.arity else parts[0]


def make_part(recorder: Recorder, type_: Type, operand: Operand, origins: frozenset[Origin]) -> Any:
    if isinstance(type_, ScalarType):
        return wrap(operand, type_, True)
    if isinstance(type_, ListType):
        return HostList(operand, _template_in(type_), origins, is_part=True)
    assert isinstance(type_, TensorType)
    shape = tuple(fresh_extent(recorder) if d is None else d for d in type_.dims)
    return recorder.new_tensor(shape, getattr(torch, type_.dtype), operand)


def share(recorder: Recorder, part: Any, origins: frozenset[Origin]) -> None:
    """An element of a host list: the list keeps its contents, so changing it in place would go unnoticed there."""
    if isinstance(part, HostList):
        part.is_part = True
    if isinstance(part, torch.Tensor):
        recorder.state.blame(recorder.view_of(part).storage, origins)


def fresh_extent(recorder: Recorder) -> torch.SymInt:
    extent = torch_adapter.new_int(recorder.fake_mode)
    torch_adapter.forget_fresh_symbols(recorder.fake_mode)
    recorder.state.facts.declare(torch_adapter.expression_of(extent), 0)
    return extent
