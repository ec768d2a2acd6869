"""Host operations between tensors (IREE buffer views) and scalars."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from runtime_py.device import current_device, dtype_of, new_view
from runtime_py.dtypes import BY_ELEMENT, to_bits


def item(tensor: Any) -> int | float | bool:
    """The only element, as int, float or bool. Raises ``RuntimeError`` (as PyTorch) if there are more or none."""
    try:
        return BY_ELEMENT[tensor.element_type].read(current_device().read(tensor))
    except (struct.error, KeyError):
        count = tensor.byte_length // dtype_of(tensor).storage.itemsize
        raise RuntimeError(f"a Tensor with {count} elements cannot be converted to Scalar") from None


def dim(tensor: Any, index: int) -> int:
    """The extent of dimension ``index``."""
    extent: int = tensor.shape[index]
    return extent


def full(value: float, dtype: str, *dims: int) -> Any:
    """A tensor of the shape ``dims`` filled with ``value``. Raises ``RuntimeError`` if the dtype cannot hold it."""
    try:
        bits = to_bits(value, dtype)
    except OverflowError:
        text = f"value cannot be converted to type {dtype} without overflow"
        raise RuntimeError(text) from None
    return new_view(np.full(dims, bits), dtype)
