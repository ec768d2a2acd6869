"""Numbers that are only known when the compiled program runs, and their arithmetic.

The user's code never holds PyTorch's raw symbolic numbers; it holds these. Every operation of Python's data model is
here: it is staged (recorded as a host operation), a decision, or refused. Classes and arithmetic are one module because
each is made of the other.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NoReturn

import sympy
import torch

from toolchain.frontend.context import NO_ORIGINS, Staged, context, refuse, scalar_type, union_origins
from toolchain.frontend.signals import Origin
from toolchain.ir import BOOL, FLOAT, INT, ScalarType, Type


class StagedNumber(Staged):
    """What int, float and bool have in common."""

    __slots__ = ()

    def _binary(self, opcode: str, other: object, swap: bool = False) -> Any:
        if isinstance(other, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            other = context().box(other)
        if not isinstance(other, (int, float, StagedNumber)):
            return NotImplemented
        left, right = (other, self) if swap else (self, other)
        return binary(opcode, left, right)

    def __add__(self, o: object) -> Any:
        return self._binary("add", o)

    def __radd__(self, o: object) -> Any:
        return self._binary("add", o, True)

    def __sub__(self, o: object) -> Any:
        return self._binary("sub", o)

    def __rsub__(self, o: object) -> Any:
        return self._binary("sub", o, True)

    def __mul__(self, o: object) -> Any:
        return self._binary("mul", o)

    def __rmul__(self, o: object) -> Any:
        return self._binary("mul", o, True)

    def __truediv__(self, o: object) -> Any:
        return self._binary("truediv", o)

    def __rtruediv__(self, o: object) -> Any:
        return self._binary("truediv", o, True)

    def __floordiv__(self, o: object) -> Any:
        return self._binary("floordiv", o)

    def __rfloordiv__(self, o: object) -> Any:
        return self._binary("floordiv", o, True)

    def __mod__(self, o: object) -> Any:
        return self._binary("mod", o)

    def __rmod__(self, o: object) -> Any:
        return self._binary("mod", o, True)

    def __divmod__(self, o: object) -> Any:
        return self // o, self % o

    def __rdivmod__(self, o: object) -> Any:
        return o // self, o % self

    def __pow__(self, o: object) -> Any:
        return self._binary("pow", o)

    def __rpow__(self, o: object) -> Any:
        return self._binary("pow", o, True)

    def __and__(self, o: object) -> Any:
        return self._binary("and", o)

    def __rand__(self, o: object) -> Any:
        return self._binary("and", o, True)

    def __or__(self, o: object) -> Any:
        return self._binary("or", o)

    def __ror__(self, o: object) -> Any:
        return self._binary("or", o, True)

    def __xor__(self, o: object) -> Any:
        return self._binary("xor", o)

    def __rxor__(self, o: object) -> Any:
        return self._binary("xor", o, True)

    def __lshift__(self, o: object) -> Any:
        return self._binary("lshift", o)

    def __rlshift__(self, o: object) -> Any:
        return self._binary("lshift", o, True)

    def __rshift__(self, o: object) -> Any:
        return self._binary("rshift", o)

    def __rrshift__(self, o: object) -> Any:
        return self._binary("rshift", o, True)

    def __lt__(self, o: object) -> Any:
        return self._binary("lt", o)

    def __le__(self, o: object) -> Any:
        return self._binary("le", o)

    def __gt__(self, o: object) -> Any:
        return self._binary("gt", o)

    def __ge__(self, o: object) -> Any:
        return self._binary("ge", o)

    def __eq__(self, o: object) -> Any:
        result = self._binary("eq", o)
        return False if result is NotImplemented else result

    def __ne__(self, o: object) -> Any:
        result = self._binary("ne", o)
        return True if result is NotImplemented else result

    __hash__ = Staged.__hash__

    def __neg__(self) -> Any:
        return unary("neg", self)

    def __pos__(self) -> Any:
        return unary("pos", self)

    def __abs__(self) -> Any:
        return unary("abs", self)

    def __invert__(self) -> Any:
        return unary("invert", self)

    def __round__(self, digits: int | None = None) -> Any:
        return round_number(self, digits)

    def __trunc__(self) -> Any:
        return to_int(self)

    def __floor__(self) -> Any:
        return unary("floor", self, INT)

    def __ceil__(self) -> Any:
        return unary("ceil", self, INT)

    def __bool__(self) -> bool:
        return context().decide(to_bool(self))

    def __int__(self) -> int:
        return int(context().constant(to_int(self), "int() inside native code"))

    def __float__(self) -> float:
        return float(context().constant(self, "float() inside native code"))


class StagedInt(StagedNumber):
    """An int. ``sym`` is its symbolic twin, so that PyTorch's shape arithmetic knows how such numbers relate."""

    __slots__ = ("sym",)
    type = INT

    def __init__(
        self, operand: Any, is_data: bool, origins: frozenset[Origin] = NO_ORIGINS, sym: torch.SymInt | None = None
    ) -> None:
        super().__init__(operand, is_data, origins)
        self.sym = context().int_symbol(operand, is_data, origins) if sym is None else sym

    def __index__(self) -> int:
        return int(context().constant(self, "__index__"))

    def bit_length(self) -> NoReturn:
        refuse("int.bit_length()")


class StagedFloat(StagedNumber):
    """A double."""

    __slots__ = ()
    type = FLOAT

    def is_integer(self) -> Any:
        return self == unary("floor", self, INT)


class StagedBool(StagedNumber):
    """A bool. ``expr`` is set when it says something about extents and integers that a path may already know."""

    __slots__ = ("expr",)
    type = BOOL

    def __init__(
        self, operand: Any, is_data: bool, origins: frozenset[Origin] = NO_ORIGINS, expr: sympy.Basic | None = None
    ) -> None:
        super().__init__(operand, is_data, origins)
        self.expr = expr


def wrap_number(
    operand: Any, type_: Type, is_data: bool, origins: frozenset[Origin] = NO_ORIGINS, sym: Any = None, expr: Any = None
) -> Any:
    """The staged number of ``type_`` that holds ``operand``."""
    if type_ == INT:
        return StagedInt(operand, is_data, origins, sym)
    if type_ == BOOL:
        return StagedBool(operand, is_data, origins, expr)
    assert type_ == FLOAT
    return StagedFloat(operand, is_data, origins)


def _operand(number: Any) -> Any:
    return number.operand if isinstance(number, Staged) else number


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": sympy.Lt, "le": sympy.Le, "gt": sympy.Gt, "ge": sympy.Ge, "eq": sympy.Eq, "ne": sympy.Ne
}  # fmt: skip
_SYMBOLIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
}
_INT_ONLY = {"and", "or", "xor", "lshift", "rshift"}


def binary(opcode: str, left: Any, right: Any) -> Any:
    """``left <opcode> right`` of two numbers, at least one of them staged."""
    staged = [v for v in (left, right) if isinstance(v, Staged)]
    is_data, origins = any(v.is_data for v in staged), union_origins(*staged)
    lt, rt = scalar_type(left), scalar_type(right)
    if opcode in _COMPARISONS:
        expr = None
        if lt == INT and rt == INT and context().is_symbolic:
            expr = _COMPARISONS[opcode](expression(left), expression(right))
            if expr in (sympy.true, sympy.false):
                return bool(expr)
        operand = context().host(opcode, (_operand(left), _operand(right)), BOOL)
        return wrap_number(operand, BOOL, is_data, origins, expr=expr)
    if opcode == "pow" and FLOAT not in (lt, rt) and isinstance(right, int) and 0 <= right <= _LARGEST_POWER:
        return _power(left, right)
    result = _result_type(opcode, lt, rt)
    if opcode == "pow":
        _guard_power(left, right)
    if opcode in ("floordiv", "mod", "truediv"):
        _check_divisor(right, _DIVISION_TEXTS[opcode, FLOAT in (lt, rt)])
    operand = context().host(opcode, (_operand(left), _operand(right)), result)
    sym = None
    if result == INT and lt == INT and rt == INT and opcode in _SYMBOLIC and context().is_symbolic:
        sym = _SYMBOLIC[opcode](symbol(left), symbol(right))
        if isinstance(sym, int):
            return sym
    return wrap_number(operand, result, is_data, origins, sym=sym)


_LARGEST_POWER = 8


def _power(base: Any, exponent: int) -> Any:
    """An integer power as a product: a negative exponent alone would make it a float."""
    return (
        functools.reduce(lambda a, b: binary("mul", a, b), [base] * exponent)
        if exponent > 1
        else to_int(base)
        if exponent
        else 1
    )


def _result_type(opcode: str, left: ScalarType, right: ScalarType) -> ScalarType:
    if opcode in _INT_ONLY:
        if FLOAT in (left, right):
            raise TypeError(f"unsupported operand type(s) for {opcode}: {left} and {right}")
        return BOOL if left == right == BOOL and opcode in ("and", "or", "xor") else INT
    if opcode == "truediv" or FLOAT in (left, right):
        return FLOAT
    if opcode == "pow":
        refuse("an integer power with operands that are only known at run time", "multiply, or convert to float first")
    return INT


# What CPython 3.11 says, by operation and whether an operand is a float.
_DIVISION_TEXTS = {
    ("truediv", False): "division by zero",
    ("truediv", True): "float division by zero",
    ("floordiv", False): "integer division or modulo by zero",
    ("floordiv", True): "float floor division by zero",
    ("mod", False): "integer modulo by zero",
    ("mod", True): "float modulo",
}


def _check_divisor(divisor: Any, text: str) -> None:
    if divisor == 0:
        raise ZeroDivisionError(text)


def unary(opcode: str, value: StagedNumber, result: ScalarType | None = None) -> Any:
    if opcode in ("floor", "ceil"):
        guard_integer(value)
    kind = result or (INT if value.type == BOOL else value.type)
    assert isinstance(kind, ScalarType)
    if opcode == "pos" and value.type != BOOL:
        return value
    operand = context().host(opcode, (value.operand,), kind)
    sym = None
    if opcode == "neg" and isinstance(value, StagedInt):
        sym = -value.sym
    return wrap_number(operand, kind, value.is_data, value.origins, sym=sym)


def guard_integer(value: Any) -> None:
    """Makes the errors of a conversion to int decisions where the program could catch them."""
    if isinstance(value, StagedFloat) and context().raising_shows():
        context().check(binary("eq", value, value), ValueError, "cannot convert float NaN to integer")
        context().check(binary("ne", abs(value), math.inf), OverflowError, "cannot convert float infinity to integer")


def _guard_power(base: Any, exponent: Any) -> None:
    """A negative number to a fractional power is complex in Python; hosts have no complex numbers."""
    if not isinstance(base, StagedNumber) or isinstance(exponent, StagedNumber):
        return
    if not float(exponent).is_integer():
        text = "a negative number to a fractional power is complex; that path is not compiled"
        context().check(negate(binary("lt", base, 0)), NotImplementedError, text)
    if exponent < 0 and context().raising_shows():
        context().check(binary("ne", base, 0), ZeroDivisionError, "0.0 cannot be raised to a negative power")


def round_number(value: StagedNumber, digits: int | None) -> Any:
    if value.type != FLOAT:
        return to_int(value) if digits is None or digits >= 0 else refuse("round() of an int to tens")
    if digits is None:
        guard_integer(value)
        return wrap_number(context().host("round", (value.operand,), INT), INT, value.is_data, value.origins)
    operand = context().host("round_digits", (value.operand, digits), FLOAT)
    return wrap_number(operand, FLOAT, value.is_data, value.origins)


def to_int(value: Any) -> Any:
    if not isinstance(value, Staged):
        return int(value)
    if isinstance(value, StagedInt):
        return value
    guard_integer(value)
    return wrap_number(context().host("int", (value.operand,), INT), INT, value.is_data, value.origins)


def to_float(value: Any) -> Any:
    if not isinstance(value, Staged):
        return float(value)
    if isinstance(value, StagedFloat):
        return value
    return wrap_number(context().host("float", (value.operand,), FLOAT), FLOAT, value.is_data, value.origins)


def to_bool(value: Any) -> Any:
    if not isinstance(value, Staged):
        return bool(value)
    if isinstance(value, StagedBool):
        return value
    assert isinstance(value, StagedNumber)
    return binary("ne", value, 0)


def negate(value: StagedBool) -> StagedBool:
    expr = None if value.expr is None else sympy.Not(value.expr)
    return StagedBool(context().host("not", (value.operand,), BOOL), value.is_data, value.origins, expr)


def symbol(value: Any) -> Any:
    """The number that PyTorch's shape arithmetic takes: a plain int or a raw SymInt / SymFloat."""
    if isinstance(value, Staged) and not context().is_symbolic:
        return value.operand
    if isinstance(value, StagedInt):
        return value.sym
    if isinstance(value, StagedBool):
        return to_int(value).sym
    if isinstance(value, StagedFloat):
        return context().float_symbol(value.operand)
    return value


def expression(value: Any) -> sympy.Basic:
    """The sympy expression of an int."""
    if isinstance(value, StagedInt):
        return value.sym.node.expr if isinstance(value.sym, torch.SymInt) else sympy.Integer(value.sym)
    return sympy.Integer(value)


def minimum(opcode: str, left: Any, right: Any) -> Any:
    """``min``/``max`` of two numbers of one type, without a decision. Python's choice among equal values is irrelevant
    then; NaN is not: the host operation follows Python's rule."""
    staged = [v for v in (left, right) if isinstance(v, Staged)]
    kind = scalar_type(left)
    operand = context().host(opcode, (_operand(left), _operand(right)), kind)
    return wrap_number(operand, kind, any(v.is_data for v in staged), union_origins(*staged))
