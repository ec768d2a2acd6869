"""Functions of Python's ``math`` module on staged numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from toolchain.frontend.context import Staged, context, union_origins
from toolchain.frontend.numbers import StagedNumber, binary, guard_integer, negate, wrap_number
from toolchain.frontend.staged import operand_of
from toolchain.ir import BOOL, FLOAT, INT

MATH_FUNCTIONS: dict[Callable[..., Any], str] = {
    getattr(math, name): name
    for name in [
        "sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
        "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "fabs", "fmod", "hypot", "isnan", "isinf", "isfinite",
    ]
}  # fmt: skip


def math_call(name: str, values: tuple[Any, ...]) -> Any:
    """``math.<name>(*values)`` of staged numbers."""
    result = BOOL if name in ("isnan", "isinf", "isfinite") else INT if name in ("floor", "ceil", "trunc") else FLOAT
    if result == INT:
        guard_integer(values[0])
    elif name in _DOMAINS:
        _guard_domain(name, values[0])
    staged = [v for v in values if isinstance(v, Staged)]
    operand = context().host(name, tuple(operand_of(v) for v in values), result)
    return wrap_number(operand, result, any(v.is_data for v in staged), union_origins(*staged))


# Where math functions raise: the comparison that tells, its bound, whether of the absolute value, and the exception.
_DOMAIN, _RANGE = (ValueError, "math domain error"), (OverflowError, "math range error")
_LARGEST_EXPONENT, _LARGEST_HYPERBOLIC = 709.782712893384, 710.4758600739439
_DOMAINS: dict[str, tuple[str, float, bool, tuple[type[Exception], str]]] = {
    "sqrt": ("lt", 0.0, False, _DOMAIN),
    **dict.fromkeys(("log", "log2", "log10"), ("le", 0.0, False, _DOMAIN)),
    "log1p": ("le", -1.0, False, _DOMAIN),
    **dict.fromkeys(("asin", "acos"), ("gt", 1.0, True, _DOMAIN)),
    **dict.fromkeys(("sin", "cos", "tan"), ("eq", math.inf, True, _DOMAIN)),
    **dict.fromkeys(("exp", "expm1"), ("gt", _LARGEST_EXPONENT, False, _RANGE)),
    **dict.fromkeys(("sinh", "cosh"), ("gt", _LARGEST_HYPERBOLIC, True, _RANGE)),
}


def _guard_domain(name: str, value: Any) -> None:
    """Makes the error of a math function a decision where the program could catch it."""
    if isinstance(value, StagedNumber) and context().raising_shows():
        opcode, bound, is_absolute, (exception, text) = _DOMAINS[name]
        outside = binary(opcode, abs(value) if is_absolute else value, bound)
        context().check(negate(outside), exception, text)
