"""The border between the program and PyTorch: staged values on one side, raw symbolic numbers on the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend import torch_adapter
from toolchain.frontend.context import Staged
from toolchain.frontend.machine.frame import IndexIter, StagedRange, VMGenerator
from toolchain.frontend.numbers import StagedBool, symbol
from toolchain.frontend.signals import Unsupported
from toolchain.frontend.staged import Array, HostList, StagedObject, StagedStr

if TYPE_CHECKING:
    from toolchain.frontend.recorder import Recorder


class StagedSize(tuple):  # type: ignore[type-arg]
    """``tensor.shape`` with extents that are only known at run time."""

    __slots__ = ()

    def numel(self) -> Any:
        n: Any = 1
        for extent in self:
            n = n * extent
        return n


def box(recorder: Recorder, value: Any) -> Any:
    """Raw symbolic numbers in the result of a native call become staged values."""
    if torch_adapter.is_symbolic(value):
        return recorder.box(value)
    kind = type(value)
    if kind is torch.Size:
        if any(torch_adapter.is_symbolic(x) for x in value):
            return StagedSize(box(recorder, x) for x in value)
        return value
    if (kind is tuple or kind is list) and any(
        torch_adapter.is_symbolic(x) or type(x) in (tuple, list, torch.Size) for x in value
    ):
        return kind(box(recorder, x) for x in value)
    return value


def unbox(value: Any) -> Any:
    """Staged values in the arguments of a PyTorch function become raw symbolic numbers."""
    if isinstance(value, StagedBool):
        return bool(value)  # PyTorch's functions take flags as constants: a decision
    if isinstance(value, StagedObject):
        raise Unsupported("TC120", "a value of the host in a PyTorch function", "convert it with int() or float()")
    if isinstance(value, StagedStr):
        return value.constant("use as an argument")
    if isinstance(value, Staged):
        return symbol(value)
    if isinstance(value, Array):
        raise Unsupported("TC161", "a NumPy array among the arguments of a PyTorch function", "use torch.from_numpy()")
    kind = type(value)
    if kind is StagedSize:
        return tuple(unbox(x) for x in value)
    if kind is slice:
        return slice(unbox(value.start), unbox(value.stop), unbox(value.step))
    if kind in (tuple, list):
        return kind(unbox(x) for x in value)
    if kind is dict:
        return {k: unbox(v) for k, v in value.items()}
    return value


def has_staged(value: Any, depth: int = 3) -> bool:
    if isinstance(value, (Staged, HostList, VMGenerator, IndexIter, StagedRange, Array)):
        return True
    if depth and isinstance(value, (tuple, list, set, frozenset)):
        return any(has_staged(x, depth - 1) for x in value)
    if depth and isinstance(value, dict):
        return any(has_staged(x, depth - 1) for x in value.values())
    if isinstance(value, slice):
        return any(has_staged(x) for x in (value.start, value.stop, value.step))
    return False
