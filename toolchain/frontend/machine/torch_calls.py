"""PyTorch's functions and methods of tensors that mean something else when their arguments are staged.

Handlers are those of ``builtin_calls``.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend.context import Staged
from toolchain.frontend.machine import (
    border,
    builtin_calls,
    operations,
)
from toolchain.frontend.machine.frame import IndexIter, VMGenerator
from toolchain.frontend.numbers import StagedNumber
from toolchain.frontend.signals import Unsupported
from toolchain.frontend.staged import Array, HostList, Scalar

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine


def _torch_tensor(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    data = args[0] if args else kwargs["data"]
    data = data.tensor if isinstance(data, Array) else data
    if isinstance(data, torch.Tensor):
        out = data.detach().clone()
        return out if kwargs.get("dtype") is None else out.to(kwargs["dtype"])
    if border.has_staged(data) or _contains_tensor(data):
        return m.calls.tensors.from_nested(data, kwargs.get("dtype"))
    return m.calls.native(torch.tensor, args, kwargs)


def _as_tensor(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    data = args[0] if args else kwargs["data"]
    if isinstance(data, Array):
        shared = data.tensor.clone() if isinstance(data, Scalar) else data.tensor
        return shared if kwargs.get("dtype") is None else shared.to(kwargs["dtype"])
    if border.has_staged(data) or (not isinstance(data, torch.Tensor) and _contains_tensor(data)):
        return m.calls.tensors.from_nested(data, kwargs.get("dtype"))
    return m.calls.native(torch.as_tensor, args, kwargs)


def _from_numpy(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if type(args[0]) is Array:
        return args[0].tensor
    return m.calls.native(torch.from_numpy, args, kwargs)


def _contains_tensor(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return any(isinstance(d, torch.Tensor) or _contains_tensor(d) for d in data)
    return False


def _joined(native: Any, name: str) -> Any:
    def handle(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
        items = args[0] if args else kwargs.get("tensors")
        if isinstance(items, HostList):
            dim = args[1] if len(args) > 1 else kwargs.get("dim", kwargs.get("axis", 0))
            return getattr(m.calls.tensors, name)(items, dim)
        if operations.needs_machine(items):
            raise Unsupported("TC152", f"torch.{name}() of a generator", "make it a list first")
        return m.calls.native(native, args, kwargs)

    return handle


def _torch_equal(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    a, b = args
    if a.dim() != b.dim() or any(x != y for x, y in zip(a.shape, b.shape, strict=True)):
        return False
    return m.recorder.truth((a == b).all())


def _torch_allclose(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return m.recorder.truth(torch.isclose(*args, **kwargs).all())


def _deepcopy(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    """``copy.deepcopy``: tensors are cloned as the program would, numbers of run time are immutable."""
    from toolchain.frontend.heap import children, image_of, is_atomic, is_tracked

    memo: dict[int, Any] = {}
    seen: set[int] = set()
    work = [args[0]]
    while work:
        value = work.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (Staged, torch.Tensor)):
            memo[id(value)] = value.detach().clone() if isinstance(value, torch.Tensor) else value
        elif isinstance(value, (HostList, VMGenerator, IndexIter, torch.nn.Module)):
            raise Unsupported(
                "TC160", f"copy.deepcopy() of a {builtin_calls.python_type(value).__name__}", "copy its elements"
            )
        elif not is_atomic(value):
            work.extend(image_of(value)[1] if is_tracked(value) else [ref for _, ref in children(value)])
    return copy.deepcopy(args[0], memo)


def _full(native: Any, at: int) -> Any:
    """``torch.full`` and its kin with a staged fill value."""

    def handle(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
        value = args[at] if len(args) > at else kwargs.get("fill_value")
        if not isinstance(value, StagedNumber):
            return m.calls.native(native, args, kwargs)
        from toolchain.frontend.machine.tensors import default_dtype

        dtype = kwargs.get("dtype") or (default_dtype(value) if native is torch.full else args[0].dtype)
        zero = (*args[:at], 0, *args[at + 1 :]) if len(args) > at else args
        filled = m.calls.native(
            native, zero, {**kwargs, "dtype": dtype} | ({} if len(args) > at else {"fill_value": 0})
        )
        return filled + m.calls.tensors.from_scalar(value, dtype)

    return handle


def _item(tensor: torch.Tensor, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if args:
        return m.recorder.read(tensor[tuple(args)] if len(args) > 1 else tensor.flatten()[args[0]])
    return m.recorder.read(tensor)


def _tolist(tensor: torch.Tensor, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return m.calls.tensors.to_list(tensor)


def _tensor_bool(tensor: torch.Tensor, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return m.recorder.truth(tensor)


def _tensor_len(tensor: torch.Tensor, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return builtin_calls.length(m, (tensor,), {}, mode)


def _numpy(tensor: torch.Tensor, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return m.calls.arrays.of(tensor)


def _new_tensor(tensor: torch.Tensor, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return _torch_tensor(m, args, {"dtype": tensor.dtype, **kwargs}, mode)


def _new_full(tensor: torch.Tensor, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if len(args) > 1 and isinstance(args[1], StagedNumber):
        dtype = kwargs.get("dtype") or tensor.dtype
        return m.calls.native(tensor.new_full, (args[0], 0), {**kwargs, "dtype": dtype}) + m.calls.tensors.from_scalar(
            args[1], dtype
        )
    return m.calls.native(tensor.new_full, args, kwargs)


def _fill_(tensor: torch.Tensor, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if isinstance(args[0], StagedNumber):
        return tensor.copy_(m.calls.tensors.from_scalar(args[0], tensor.dtype))
    return m.calls.native(tensor.fill_, args, kwargs)


def _masked_fill(name: str) -> Any:
    def handle(tensor: torch.Tensor, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
        value = args[1] if len(args) > 1 else kwargs["value"]
        if isinstance(value, StagedNumber):
            return getattr(tensor, name)(args[0], m.calls.tensors.from_scalar(value, tensor.dtype))
        return m.calls.native(getattr(tensor, name), args, kwargs)

    return handle


def _size(tensor: torch.Tensor, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return border.box(m.recorder, tensor.size(*args, **kwargs))


TENSOR_METHODS: dict[str, Any] = {
    "item": _item,
    "tolist": _tolist,
    "__bool__": _tensor_bool,
    "__len__": _tensor_len,
    "numpy": _numpy,
    "new_tensor": _new_tensor,
    "new_full": _new_full,
    "fill_": _fill_,
    "masked_fill": _masked_fill("masked_fill"),
    "masked_fill_": _masked_fill("masked_fill_"),
    "size": _size,
}


def handlers() -> dict[Any, Any]:
    """All handlers, by the function that they stand for."""
    return {
        torch.tensor: _torch_tensor, torch.as_tensor: _as_tensor, torch.asarray: _as_tensor,
        torch.from_numpy: _from_numpy,
        torch.stack: _joined(torch.stack, "stack"), torch.cat: _joined(torch.cat, "cat"),
        torch.concat: _joined(torch.cat, "cat"), torch.equal: _torch_equal, torch.allclose: _torch_allclose,
        torch.full: _full(torch.full, 1), torch.full_like: _full(torch.full_like, 1), copy.deepcopy: _deepcopy,
    }  # fmt: skip
