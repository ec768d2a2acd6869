"""The executable definition of every host operation: ``OPERATIONS[opcode]``.

Functions take the operands, then the attributes (``format_`` and ``list_`` take theirs by keyword). A function has the
opcode's name, with an underscore where Python already has a meaning for it. Tensors are IREE buffer views. Semantics
are Python's, except that integers have 64 bits: ``HostOverflowError`` beyond.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from runtime_py.errors import DeviceError, HostOverflowError
from runtime_py.hostops_list import (
    list_,
    list_append,
    list_cat,
    list_extend,
    list_get,
    list_insert,
    list_len,
    list_pop,
    list_reverse,
    list_set,
    list_slice,
    list_stack,
    list_tensor,
    tensor_list,
)
from runtime_py.hostops_python import python_call
from runtime_py.hostops_tensor import dim, full, item
from runtime_py.hostops_text import check, concat, format_, print_, warn

T = TypeVar("T")

_LOW, _HIGH = -(2**63), 2**63 - 1


def i64(value: T) -> T:
    """``value`` itself. Raises ``HostOverflowError`` RT307 for an integer beyond 64 bits."""
    if isinstance(value, int) and not _LOW <= value <= _HIGH:
        raise HostOverflowError(f"integer overflow: {_short(value)} does not fit 64 bits")
    return value


def _short(value: int) -> str:
    return str(value) if value.bit_length() < 200 else f"an integer of {value.bit_length()} bits"


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    def operation(*operands: Any) -> Any:
        return i64(function(*operands))

    operation.__name__ = operation.__qualname__ = function.__name__
    operation.__doc__ = f"``{function.__name__}`` of Python, checked to 64 bits."
    return operation


def pow_(a: Any, b: Any) -> Any:
    """``a ** b``, checked; never computes a huge integer. Raises ``DeviceError`` RT304 for a complex result."""
    if isinstance(a, int) and isinstance(b, int) and b > 63 and abs(a) > 1:
        raise HostOverflowError(f"integer overflow: {a} ** {b} does not fit 64 bits")
    result = a**b
    if isinstance(result, complex):
        raise DeviceError("RT304", f"{a} ** {b} is a complex number", "the host has no complex numbers")
    return i64(result)


def lshift(a: int, b: int) -> int:
    """``a << b``, checked; never computes a huge integer."""
    if a and b > 63:
        raise HostOverflowError(f"integer overflow: {a} << {b} does not fit 64 bits")
    return i64(a << b)


def min_(*values: Any) -> Any:
    """``min(*values)``: the first of the least."""
    return min(values)


def max_(*values: Any) -> Any:
    """``max(*values)``: the first of the greatest."""
    return max(values)


def round_(value: Any) -> int:
    """``round(value)``: the nearest int, ties to even."""
    nearest: int = i64(round(value))
    return nearest


def round_digits(value: Any, digits: int) -> Any:
    """``round(value, digits)``."""
    return i64(round(value, digits))


def int_(value: Any) -> int:
    """``int(value)``."""
    return i64(int(value))


def select(condition: bool, a: T, b: T) -> T:
    """``a if condition else b``."""
    return a if condition else b


add = _checked(operator.add)
sub = _checked(operator.sub)
mul = _checked(operator.mul)
truediv = operator.truediv
floordiv = _checked(operator.floordiv)
mod = _checked(operator.mod)
neg = _checked(operator.neg)
pos = operator.pos
abs_ = _checked(operator.abs)
and_, or_, xor, invert = operator.and_, operator.or_, operator.xor, operator.invert
rshift = operator.rshift
lt, le, gt, ge, eq, ne, not_ = (
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
    operator.not_,
)
float_, bool_, str_, repr_ = float, bool, str, repr
sqrt, exp, log, log2, log10, log1p, expm1 = (
    math.sqrt,
    math.exp,
    math.log,
    math.log2,
    math.log10,
    math.log1p,
    math.expm1,
)
sin, cos, tan, asin, acos, atan, atan2 = math.sin, math.cos, math.tan, math.asin, math.acos, math.atan, math.atan2
sinh, cosh, tanh = math.sinh, math.cosh, math.tanh
floor, ceil, trunc = _checked(math.floor), _checked(math.ceil), _checked(math.trunc)
fabs, fmod, hypot = math.fabs, math.fmod, math.hypot
isnan, isinf, isfinite = math.isnan, math.isinf, math.isfinite

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "truediv": truediv,
    "floordiv": floordiv,
    "mod": mod,
    "pow": pow_,
    "neg": neg,
    "pos": pos,
    "abs": abs_,
    "min": min_,
    "max": max_,
    "and": and_,
    "or": or_,
    "xor": xor,
    "invert": invert,
    "lshift": lshift,
    "rshift": rshift,
    "lt": lt,
    "le": le,
    "gt": gt,
    "ge": ge,
    "eq": eq,
    "ne": ne,
    "not": not_,
    "int": int_,
    "float": float_,
    "bool": bool_,
    "round": round_,
    "round_digits": round_digits,
    "str": str_,
    "repr": repr_,
}
_MATH = {
    f.__name__: f
    for f in (
        *(sqrt, exp, log, log2, log10, log1p, expm1, sin, cos, tan, asin, acos, atan, atan2, sinh, cosh, tanh),
        *(floor, ceil, trunc, fabs, fmod, hypot, isnan, isinf, isfinite),
    )
}
_OTHER: dict[str, Callable[..., Any]] = {
    "item": item,
    "dim": dim,
    "check": check,
    "python_call": python_call,
    "full": full,
    "format": format_,
    "concat": concat,
    "print": print_,
    "warn": warn,
    "select": select,
    "list": list_,
    "list_len": list_len,
    "list_get": list_get,
    "list_set": list_set,
    "list_append": list_append,
    "list_insert": list_insert,
    "list_pop": list_pop,
    "list_extend": list_extend,
    "list_slice": list_slice,
    "list_reverse": list_reverse,
    "list_stack": list_stack,
    "list_cat": list_cat,
    "list_tensor": list_tensor,
    "tensor_list": tensor_list,
}

OPERATIONS: Mapping[str, Callable[..., Any]] = MappingProxyType({**_ARITHMETIC, **_MATH, **_OTHER})
