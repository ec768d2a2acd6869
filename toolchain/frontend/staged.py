"""Scalars, strings and lists that are only known when the compiled program runs.

The user's code never holds PyTorch's raw symbolic numbers; it holds these. Every operation of Python's data model is
here: it is staged (recorded as a host operation), a decision, or refused. ``Context`` is what they need of the
recorder.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Protocol, TypeAlias

import sympy
import torch

from toolchain.frontend.signals import Origin, Unsupported
from toolchain.ir import BOOL, FLOAT, INT, OBJECT, STR, Operand, ScalarType, Type

NO_ORIGINS: frozenset[Origin] = frozenset()


class Context(Protocol):
    """The services of a recorder that staged values use.

    is_symbolic: values are operands of the IR; otherwise they are numbers, and everything is computed at once.
    """

    is_symbolic: bool

    def host(
        self, opcode: str, operands: tuple[Operand, ...], result: Type, attributes: tuple[object, ...] = ()
    ) -> Any: ...

    def decide(self, condition: StagedBool) -> bool: ...

    def constant(self, value: StagedNumber | StagedStr, what: str) -> Any: ...

    def in_try(self) -> bool: ...

    def check(self, condition: StagedBool, exception: type[Exception], text: str) -> None: ...

    def box(self, number: Any) -> Any: ...

    def int_symbol(self, operand: Any, is_data: bool, origins: frozenset[Origin]) -> torch.SymInt: ...

    def float_symbol(self, operand: Any) -> torch.SymFloat: ...


_context: list[Context] = []


def push_context(context: Context) -> None:
    _context.append(context)


def pop_context() -> None:
    _context.pop()


def context() -> Context:
    return _context[-1]


class Staged:
    """Base of all staged values.

    operand: the IR operand (or, when the program runs eagerly, the value itself).
    is_data: depends on tensor elements, not only on extents and on the path taken.
    origins: the block arguments that it was computed from.
    """

    __slots__ = ("is_data", "operand", "origins")
    type: Type

    def __init__(self, operand: Any, is_data: bool, origins: frozenset[Origin] = NO_ORIGINS) -> None:
        self.operand = operand
        self.is_data = is_data
        self.origins = origins

    def __hash__(self) -> int:
        if not context().is_symbolic:
            return hash(self.operand)
        if self.origins and not self.is_data:
            return hash(context().constant(self, "hash()"))  # type: ignore[arg-type]
        refuse("hash() of a value that is only known at run time", "use it as a list index or compare it instead")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.operand}>"

    def __reduce__(self) -> NoReturn:
        refuse("copying or pickling a value that is only known at run time")

    def __format__(self, spec: str) -> NoReturn:
        refuse("formatting a value that is only known at run time inside native code")

    def __str__(self) -> NoReturn:
        refuse("str() of a value that is only known at run time inside native code")


def refuse(what: str, hint: str = "") -> NoReturn:
    raise Unsupported("TC120", f"{what} cannot be staged", hint)


Number: TypeAlias = "int | float | bool | StagedNumber"


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


class StagedStr(Staged):
    """A string made from staged values (an f-string), or another one on each path; it can be joined, printed, raised
    and returned. Everything else needs a constant: the paths stay apart then."""

    __slots__ = ()
    type = STR

    def constant(self, what: str) -> str:
        return str(context().constant(self, f"{what} of a string"))

    def __add__(self, other: object) -> Any:
        return concat(self, other)

    def __radd__(self, other: object) -> Any:
        return concat(other, self)

    def __eq__(self, other: object) -> Any:
        return isinstance(other, (str, StagedStr)) and self.constant("comparison") == _plain(other)

    def __ne__(self, other: object) -> Any:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.constant("hash()"))

    def __bool__(self) -> bool:
        return bool(self.constant("truth"))

    def __len__(self) -> int:
        return len(self.constant("len()"))

    def __iter__(self) -> Iterator[str]:
        return iter(self.constant("iteration"))

    def __getitem__(self, key: Any) -> Any:
        return self.constant("indexing")[key]

    def __contains__(self, item: Any) -> bool:
        return _plain(item) in self.constant("a search")

    def __mod__(self, values: Any) -> Any:
        return self.constant("formatting") % values

    def __mul__(self, times: Any) -> Any:
        return self.constant("repetition") * times

    __rmul__ = __mul__

    def __lt__(self, other: Any) -> Any:
        return self.constant("comparison") < _plain(other)

    def __le__(self, other: Any) -> Any:
        return self.constant("comparison") <= _plain(other)

    def __gt__(self, other: Any) -> Any:
        return self.constant("comparison") > _plain(other)

    def __ge__(self, other: Any) -> Any:
        return self.constant("comparison") >= _plain(other)


def _plain(text: Any) -> Any:
    return text.constant("comparison") if isinstance(text, StagedStr) else text


class StagedObject(Staged):
    """A value of another type that only the host program has (``machine/objects.py``)."""

    __slots__ = ()
    type = OBJECT

    def __eq__(self, other: object) -> Any:
        return refuse("comparing such a value inside native code")

    __hash__ = Staged.__hash__

    def __bool__(self) -> NoReturn:
        refuse("the truth of such a value inside native code")

    def __len__(self) -> NoReturn:
        refuse("the length of such a value inside native code")


def concat(*parts: object) -> Any:
    if not all(isinstance(p, (str, StagedStr)) for p in parts):
        return NotImplemented
    staged = [p for p in parts if isinstance(p, StagedStr)]
    operands = tuple(operand_of(p) for p in parts)
    return wrap(context().host("concat", operands, STR), STR, any(p.is_data for p in staged), union_origins(*staged))


class HostList:
    """A list whose length is only known at run time. Mutable like a list: ``operand`` is the current value.

    template: what an element looks like (staged scalars, tensors, lists, tuples of them), for types and dims.
    is_part: it is (or was) an element of another host list, which holds its contents: it must not change any more.
    """

    __slots__ = ("is_part", "operand", "origins", "template")

    def __init__(
        self, operand: Any, template: Any, origins: frozenset[Origin] = NO_ORIGINS, is_part: bool = False
    ) -> None:
        self.operand = operand
        self.template = template
        self.origins = origins
        self.is_part = is_part

    def __bool__(self) -> bool:
        return bool(context_length(self) > 0)

    def __iter__(self) -> Iterator[Any]:
        refuse("iterating over a list of unknown length inside native code", "iterate with a for statement")

    def __len__(self) -> int:
        return int(context().constant(context_length(self), "len() inside native code"))


class Array:
    """A ``numpy.ndarray`` of run time, in the memory of ``tensor``."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __index__(self) -> NoReturn:
        refuse("an array that is only known at run time, in native code,")

    __float__ = __bool__ = __len__ = __iter__ = __array__ = __index__
    __hash__ = None  # type: ignore[assignment]


class Scalar(Array):
    """A ``numpy.generic`` of run time: a tensor without dims whose memory nobody else sees."""

    __slots__ = ()


def context_length(items: HostList) -> Any:
    return wrap(context().host("list_len", (items.operand,), INT), INT, False, items.origins)


# --------------------------------------------------------------------------------------------------------------------


def operand_of(value: object) -> Any:
    return value.operand if isinstance(value, (Staged, HostList)) else value


def union_origins(*values: object) -> frozenset[Origin]:
    return frozenset().union(*(v.origins for v in values if isinstance(v, Staged)))


def scalar_type(value: object) -> ScalarType:
    """The type of a staged or plain scalar."""
    if isinstance(value, Staged):
        assert isinstance(value.type, ScalarType)
        return value.type
    if isinstance(value, bool):
        return BOOL
    return INT if isinstance(value, int) else FLOAT if isinstance(value, float) else STR


def wrap(
    operand: Any, type_: Type, is_data: bool, origins: frozenset[Origin] = NO_ORIGINS, sym: Any = None, expr: Any = None
) -> Any:
    """The staged value of ``type_`` that holds ``operand``."""
    if type_ == INT:
        return StagedInt(operand, is_data, origins, sym)
    if type_ == BOOL:
        return StagedBool(operand, is_data, origins, expr)
    kind = {FLOAT: StagedFloat, STR: StagedStr, OBJECT: StagedObject}[type_]  # type: ignore[index]
    return kind(operand, is_data, origins)


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
        operand = context().host(opcode, (operand_of(left), operand_of(right)), BOOL)
        return wrap(operand, BOOL, is_data, origins, expr=expr)
    if opcode == "pow" and FLOAT not in (lt, rt) and isinstance(right, int) and 0 <= right <= _LARGEST_POWER:
        return _power(left, right)
    result = _result_type(opcode, lt, rt)
    if opcode == "pow":
        _guard_power(left, right)
    if opcode in ("floordiv", "mod", "truediv"):
        _check_divisor(right, _DIVISION_TEXTS[opcode, FLOAT in (lt, rt)])
    operand = context().host(opcode, (operand_of(left), operand_of(right)), result)
    sym = None
    if result == INT and lt == INT and rt == INT and opcode in _SYMBOLIC and context().is_symbolic:
        sym = _SYMBOLIC[opcode](symbol(left), symbol(right))
        if isinstance(sym, int):
            return sym
    return wrap(operand, result, is_data, origins, sym=sym)


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
        _guard_integer(value)
    kind = result or (INT if value.type == BOOL else value.type)
    assert isinstance(kind, ScalarType)
    if opcode == "pos" and value.type != BOOL:
        return value
    operand = context().host(opcode, (value.operand,), kind)
    sym = None
    if opcode == "neg" and isinstance(value, StagedInt):
        sym = -value.sym
    return wrap(operand, kind, value.is_data, value.origins, sym=sym)


def math_call(name: str, values: tuple[Any, ...]) -> Any:
    """``math.<name>(*values)`` of staged numbers."""
    result = BOOL if name in ("isnan", "isinf", "isfinite") else INT if name in ("floor", "ceil", "trunc") else FLOAT
    if result == INT:
        _guard_integer(values[0])
    elif name in _DOMAINS:
        _guard_domain(name, values[0])
    staged = [v for v in values if isinstance(v, Staged)]
    operand = context().host(name, tuple(operand_of(v) for v in values), result)
    return wrap(operand, result, any(v.is_data for v in staged), union_origins(*staged))


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


def _guard_integer(value: Any) -> None:
    """Makes the errors of a conversion to int decisions where the program could catch them."""
    if isinstance(value, StagedFloat) and context().in_try():
        context().check(binary("eq", value, value), ValueError, "cannot convert float NaN to integer")
        context().check(binary("ne", abs(value), math.inf), OverflowError, "cannot convert float infinity to integer")


def _guard_power(base: Any, exponent: Any) -> None:
    """A negative number to a fractional power is complex in Python; hosts have no complex numbers."""
    if not isinstance(base, StagedNumber) or isinstance(exponent, StagedNumber):
        return
    if not float(exponent).is_integer():
        text = "a negative number to a fractional power is complex; that path is not compiled"
        context().check(negate(binary("lt", base, 0)), NotImplementedError, text)
    if exponent < 0 and context().in_try():
        context().check(binary("ne", base, 0), ZeroDivisionError, "0.0 cannot be raised to a negative power")


def _guard_domain(name: str, value: Any) -> None:
    """The same for the argument of a math function."""
    if isinstance(value, StagedNumber) and context().in_try():
        opcode, bound, is_absolute, (exception, text) = _DOMAINS[name]
        outside = binary(opcode, abs(value) if is_absolute else value, bound)
        context().check(negate(outside), exception, text)


def round_number(value: StagedNumber, digits: int | None) -> Any:
    if value.type != FLOAT:
        return to_int(value) if digits is None or digits >= 0 else refuse("round() of an int to tens")
    if digits is None:
        _guard_integer(value)
        return wrap(context().host("round", (value.operand,), INT), INT, value.is_data, value.origins)
    operand = context().host("round_digits", (value.operand, digits), FLOAT)
    return wrap(operand, FLOAT, value.is_data, value.origins)


def to_int(value: Any) -> Any:
    if not isinstance(value, Staged):
        return int(value)
    if isinstance(value, StagedInt):
        return value
    _guard_integer(value)
    return wrap(context().host("int", (value.operand,), INT), INT, value.is_data, value.origins)


def to_float(value: Any) -> Any:
    if not isinstance(value, Staged):
        return float(value)
    if isinstance(value, StagedFloat):
        return value
    return wrap(context().host("float", (value.operand,), FLOAT), FLOAT, value.is_data, value.origins)


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
    operand = context().host(opcode, (operand_of(left), operand_of(right)), kind)
    return wrap(operand, kind, any(v.is_data for v in staged), union_origins(*staged))


MATH_FUNCTIONS: dict[Callable[..., Any], str] = {
    getattr(math, name): name
    for name in [
        "sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
        "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "fabs", "fmod", "hypot", "isnan", "isinf", "isfinite",
    ]
}  # fmt: skip
