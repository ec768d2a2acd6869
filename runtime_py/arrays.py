"""Tensors of the caller: what they are, how they become buffer views, and how results become the caller's kind again.

PyTorch is never imported here: a caller who passes its tensors has done so already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from iree.runtime import HalBufferView

from runtime_py.device import Device, dtype_of
from runtime_py.dtypes import DTYPES, numpy_dtype
from runtime_py.errors import InputError

Framework: TypeAlias = Literal["torch", "numpy"]
_ALIGNMENT = 64


def torch_module() -> Any:
    """PyTorch if the process has imported it, else None."""
    return sys.modules.get("torch")


def framework_of(value: object) -> Framework | None:
    """Whose tensor ``value`` is; None if it is none."""
    if isinstance(value, np.ndarray):
        return "numpy"
    torch = torch_module()
    return "torch" if torch is not None and isinstance(value, torch.Tensor) else None


def preferred_framework(values: list[Any]) -> Framework:
    """The kind of results: PyTorch's if an argument is, NumPy's if only such are; without tensors what is imported."""
    kinds = {kind for kind in map(framework_of, values) if kind is not None}
    if not kinds:
        return "numpy" if torch_module() is None else "torch"
    return "torch" if "torch" in kinds else "numpy"


def dtype_name(value: Any) -> str:
    """PyTorch's name of the dtype of a tensor of either kind."""
    return value.dtype.name if isinstance(value, np.ndarray) else str(value.dtype).removeprefix("torch.")


def to_view(value: Any, device: Device, copy: bool) -> Any:
    """A buffer view of a tensor; shares the memory if that is possible and ``copy`` does not forbid it."""
    if isinstance(value, np.ndarray):
        return _from_numpy(value, value.dtype.name, device, copy)
    value = value.detach()
    if device.is_host and not copy and value.is_contiguous() and value.data_ptr() % _ALIGNMENT == 0:
        return device.hal.from_dlpack_capsule(torch_module()._C._to_dlpack(value))
    return _from_numpy(_bits_of(value), dtype_name(value), device, copy)


def _from_numpy(array: np.ndarray[Any, Any], name: str, device: Device, copy: bool) -> Any:
    dtype = DTYPES[name]
    flags = array.flags
    if device.is_host and not copy and array.nbytes > 4096 and flags.c_contiguous and flags.writeable:
        address: int = array.__array_interface__["data"][0]
        if address % _ALIGNMENT == 0:
            return device.share(array.view(dtype.storage), array.shape, dtype)
    return device.upload(array.view(dtype.storage), dtype)


def _bits_of(tensor: Any) -> np.ndarray[Any, Any]:
    torch = torch_module()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.contiguous().view(torch.int16)
    array: np.ndarray[Any, Any] = tensor.resolve_conj().resolve_neg().numpy()
    return array


def from_view(view: Any, device: Device, framework: Framework) -> Any:
    """A contiguous tensor of the caller's kind that owns its memory."""
    dtype = dtype_of(view)
    # A result must not alias the device's memory, which later calls reuse (or the caller's arguments, or weights).
    bits = device.array(view).copy()
    if framework == "numpy":
        return bits.view(numpy_dtype(dtype.name))
    torch = torch_module()
    tensor = torch.from_numpy(bits)
    return tensor.view(torch.bfloat16) if dtype.name == "bfloat16" else tensor


def write_back(target: Any, view: Any, device: Device, name: str) -> Callable[[], None]:
    """An action that stores ``view`` in the caller's tensor ``target``; ``name`` says which argument that is.

    The new value is copied here, so that it may alias another argument. Raises ``InputError`` RT205 if the shape or the
    dtype differs or the array is read-only.
    """
    if tuple(view.shape) != tuple(target.shape) or dtype_of(view).name != dtype_name(target):
        text = f"{name} would change from {_described(target)} to {dtype_of(view).name}{list(view.shape)}"
        raise InputError("RT205", text, "an argument can be changed in place, but not its shape or dtype")
    if isinstance(target, np.ndarray):
        if not target.flags.writeable:
            raise InputError("RT205", f"{name} is changed in place, but the array is read-only", "pass a copy")
        array = from_view(view, device, "numpy")
        return lambda: np.copyto(target, array)
    tensor = from_view(view, device, "torch")
    return lambda: _store(target, tensor)


def _store(target: Any, tensor: Any) -> None:
    with torch_module().no_grad():
        target.copy_(tensor)


def _described(tensor: Any) -> str:
    return f"{dtype_name(tensor)}{list(tensor.shape)}"


def convert(value: Any, device: Device, framework: Framework) -> Any:
    """Buffer views in nested tuples, lists and dicts as tensors; everything else stays as it is."""
    if isinstance(value, HalBufferView):
        return from_view(value, device, framework)
    if type(value) in (tuple, list):
        return type(value)(convert(v, device, framework) for v in value)
    if isinstance(value, Mapping):
        return {k: convert(v, device, framework) for k, v in value.items()}
    return value
