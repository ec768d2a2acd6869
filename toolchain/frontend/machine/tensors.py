"""Tensors made from staged numbers and host lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend import torch_adapter
from toolchain.frontend.constants import dtype_name
from toolchain.frontend.context import scalar_type
from toolchain.frontend.staged import HostList, StagedStr, context_length, operand_of
from toolchain.frontend.templates import Template, fresh_extent
from toolchain.ir import BOOL, FLOAT, INT, ListType, TensorType, Type

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine


class TensorFactory:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def from_scalar(self, value: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        """``torch.tensor(value)``."""
        dtype = dtype or default_dtype(value)
        operand = self._machine.recorder.host(
            "full", (operand_of(value),), TensorType(dtype_name(dtype), ()), (dtype_name(dtype),)
        )
        return self._machine.recorder.new_tensor((), dtype, operand)

    def from_nested(self, data: Any, dtype: torch.dtype | None) -> torch.Tensor:
        """``torch.tensor(data)`` of (nested) sequences with staged numbers or tensors of one element in them."""
        if isinstance(data, HostList):
            return self.from_list(data, dtype)
        if not isinstance(data, (list, tuple)):
            if isinstance(data, torch.Tensor):
                data = self._machine.recorder.read(data)
            return self.from_scalar(data, dtype)
        if any(isinstance(d, (list, tuple, HostList)) for d in data):
            return torch.stack([self.from_nested(d, dtype or self._common_dtype(data)) for d in data])
        values = [self._machine.recorder.read(d) if isinstance(d, torch.Tensor) else d for d in data]
        dtype = dtype or self._common_dtype(values)
        return torch.stack([self.from_scalar(v, dtype) for v in values])

    def _common_dtype(self, data: Any) -> torch.dtype:
        kinds = {scalar_type(d) for d in _flat(data)}
        return (
            torch.get_default_dtype()
            if FLOAT in kinds
            else torch.int64
            if INT in kinds or BOOL not in kinds
            else torch.bool
        )

    def from_list(self, items: HostList, dtype: torch.dtype | None = None) -> torch.Tensor:
        """``torch.tensor(items)`` of a host list of numbers: one dimension of unknown extent."""
        recorder = self._machine.recorder
        template = items.template
        if template is None:
            return torch.empty((0,), dtype=dtype or torch.get_default_dtype())
        kind = template.parts[0]
        if template.arity or kind not in (INT, FLOAT, BOOL):
            recorder.need_constant(
                items.origins, "torch.tensor() of a list of unknown length with elements that are no numbers"
            )
        natural = {INT: torch.int64, FLOAT: torch.get_default_dtype(), BOOL: torch.bool}[kind]
        chosen = dtype or natural
        if dtype is None and kind != FLOAT:
            # torch.tensor([]) is a float tensor: an empty list changes the dtype, and with it the path.
            empty = context_length(items) == 0
            if recorder.decide(empty) if not isinstance(empty, bool) else empty:
                return torch.empty((0,), dtype=torch.get_default_dtype())
        operand = recorder.host(
            "list_tensor", (items.operand,), TensorType(dtype_name(chosen), (None,)), (dtype_name(chosen),)
        )
        return recorder.new_tensor((fresh_extent(recorder),), chosen, operand)

    def stack(self, items: HostList, dim: int = 0) -> torch.Tensor:
        """``torch.stack(items, dim)``."""
        recorder = self._machine.recorder
        self._not_empty(items, "stack expects a non-empty TensorList")
        element = self._tensor_element(items, "torch.stack()")
        operand = recorder.host("list_stack", (items.operand,), TensorType(element.dtype, (None, *element.dims)))
        shape = tuple(fresh_extent(recorder) if d is None else d for d in (None, *element.dims))
        out = recorder.new_tensor(shape, getattr(torch, element.dtype), operand)
        return out if dim == 0 else torch.movedim(out, 0, dim)

    def cat(self, items: HostList, dim: int = 0) -> torch.Tensor:
        """``torch.cat(items, dim)``."""
        recorder = self._machine.recorder
        self._not_empty(items, "torch.cat(): expected a non-empty list of Tensors")
        element = self._tensor_element(items, "torch.cat()")
        dim = dim % element.rank
        if any(d is None for n, d in enumerate(element.dims) if n != dim):
            recorder.need_constant(items.origins, "torch.cat() of tensors whose other extents differ")
        dims = tuple(None if n == dim else d for n, d in enumerate(element.dims))
        operand = recorder.host("list_cat", (items.operand,), TensorType(element.dtype, dims), (dim,))
        shape = tuple(fresh_extent(recorder) if d is None else d for d in dims)
        return recorder.new_tensor(shape, getattr(torch, element.dtype), operand)

    def _tensor_element(self, items: HostList, what: str) -> TensorType:
        template = items.template
        if template is None or template.arity or not isinstance(template.parts[0], TensorType):
            self._machine.recorder.need_constant(items.origins, f"{what} of a list of unknown length")
        element = template.parts[0]
        assert isinstance(element, TensorType)
        return element

    def _not_empty(self, items: HostList, text: str) -> None:
        filled = context_length(items) > 0
        self._machine.recorder.require_staged_value(filled, RuntimeError, text)

    def to_list(self, tensor: torch.Tensor) -> Any:
        """``tensor.tolist()``."""
        recorder = self._machine.recorder
        if tensor.dim() == 0:
            return recorder.read(tensor)
        folded = recorder.fold(recorder.value_of(tensor), tensor)
        if folded is not None:
            with torch_adapter.real_mode():
                return folded.tolist()
        if isinstance(tensor.shape[0], int):
            return [self.to_list(part) for part in tensor.unbind(0)]
        element: Type = BOOL if tensor.dtype == torch.bool else FLOAT if tensor.is_floating_point() else INT
        for _ in range(tensor.dim() - 1):
            element = ListType(element)
        operand = recorder.host("tensor_list", (recorder.value_of(tensor),), ListType(element))
        return HostList(operand, Template((element,), 0))


def default_dtype(value: Any) -> torch.dtype:
    kind = scalar_type(value)
    if isinstance(value, StagedStr) or kind not in (INT, FLOAT, BOOL):
        raise TypeError("a tensor cannot be made from a string")
    return {INT: torch.int64, FLOAT: torch.get_default_dtype(), BOOL: torch.bool}[kind]


def _flat(data: Any) -> list[Any]:
    if isinstance(data, (list, tuple)):
        return [x for d in data for x in _flat(d)]
    if isinstance(data, HostList):
        return [0 if data.template and data.template.parts[0] == INT else 0.0]
    if isinstance(data, torch.Tensor):
        return [0.0 if data.is_floating_point() else False if data.dtype == torch.bool else 0]
    return [data]
