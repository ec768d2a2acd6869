"""Element types: PyTorch's names, IREE's numbers, NumPy's dtypes.

NumPy has no bfloat16: host code handles it as its 16 bits, and arrays of it for the caller need ml_dtypes.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from iree.runtime import HalElementType

from runtime_py.errors import InputError


@dataclass(frozen=True, slots=True)
class DType:
    """An element type.

    name:    PyTorch's name without ``torch.``.
    element: the number that our buffers carry.
    storage: NumPy's dtype of the same bits.
    read:    the only element of a buffer of that size as a Python scalar.
    """

    name: str
    element: int
    storage: np.dtype[Any]
    read: Callable[[Any], int | float | bool]


def _reader(code: str) -> Callable[[Any], int | float | bool]:
    unpack = struct.Struct("<" + code).unpack
    return lambda data: unpack(data)[0]


def _read_bfloat16(data: Any) -> float:
    value: float = struct.unpack("<f", b"\0\0" + bytes(data))[0]
    return value


def _dtype(name: str, element: HalElementType, storage: str, code: str) -> DType:
    read = _reader(code) if code else _read_bfloat16
    return DType(name, int(element), np.dtype(storage), read)


_ALL = (
    _dtype("bool", HalElementType.BOOL_8, "bool", "?"),
    _dtype("uint8", HalElementType.UINT_8, "uint8", "B"),
    _dtype("int8", HalElementType.SINT_8, "int8", "b"),
    _dtype("int16", HalElementType.SINT_16, "int16", "h"),
    _dtype("int32", HalElementType.SINT_32, "int32", "i"),
    _dtype("int64", HalElementType.SINT_64, "int64", "q"),
    _dtype("float16", HalElementType.FLOAT_16, "float16", "e"),
    _dtype("bfloat16", HalElementType.BFLOAT_16, "uint16", ""),
    _dtype("float32", HalElementType.FLOAT_32, "float32", "f"),
    _dtype("float64", HalElementType.FLOAT_64, "float64", "d"),
)
DTYPES = MappingProxyType({d.name: d for d in _ALL})

# Compiled modules return signless integers; where PyTorch's type is unsigned, ``runtime_py.invoke`` says so again.
_SIGNLESS = {
    int(HalElementType.INT_8): "int8",
    int(HalElementType.INT_16): "int16",
    int(HalElementType.INT_32): "int32",
    int(HalElementType.INT_64): "int64",
}
BY_ELEMENT = MappingProxyType({d.element: d for d in _ALL} | {e: DTYPES[n] for e, n in _SIGNLESS.items()})


@functools.cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of arrays that callers pass and get. Raises ``InputError`` RT206 for bfloat16 without ml_dtypes."""
    if name != "bfloat16":
        return DTYPES[name].storage
    try:
        import ml_dtypes
    except ImportError as error:
        raise InputError("RT206", "NumPy arrays of bfloat16 need ml_dtypes", "pip install ml-dtypes") from error
    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


def to_bits(values: Any, name: str) -> np.ndarray[Any, Any]:
    """An array of the storage dtype of ``name`` from Python scalars (or nested lists of them).

    Raises ``OverflowError`` for an integer that does not fit, as NumPy does.
    """
    if name != "bfloat16":
        return np.asarray(values, DTYPES[name].storage)
    return _round_to_bfloat16(np.asarray(values, np.float32))


def _round_to_bfloat16(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    bits = values.view(np.uint32)
    # To the nearest, ties to even; the sum would carry a nan into infinity.
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint32(0x7FC0), rounded).astype(np.uint16)


def to_scalars(bits: np.ndarray[Any, Any], name: str) -> list[Any]:
    """The elements as (nested lists of) Python scalars."""
    if name == "bfloat16":
        bits = (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    scalars: list[Any] = bits.tolist()
    return scalars
