"""Type rules of the host operations listed in ``toolchain.ir.hostops``."""

from __future__ import annotations

from collections.abc import Callable

from toolchain.ir.hostops import ARITHMETIC, BITWISE, COMPARISON, HOST_CALL, MATH, OPCODES
from toolchain.ir.ops import HostOp
from toolchain.ir.types import BOOL, FLOAT, INT, STR, ListType, ScalarType, TensorType, TupleType, Type
from toolchain.ir.values import Constant, Operand, Value

_NUMBERS = (INT, FLOAT, BOOL)
_BINARY_MATH = frozenset({"atan2", "fmod", "hypot"})
_MATH_RESULTS = dict.fromkeys(("floor", "ceil", "trunc"), INT) | dict.fromkeys(("isnan", "isinf", "isfinite"), BOOL)
_CONVERSIONS = {"int": INT, "float": FLOAT, "bool": BOOL, "round": INT, "str": STR, "repr": STR}
_LITERALS: dict[type, Type] = {bool: BOOL, int: INT, float: FLOAT, str: STR}


def type_of(operand: Operand) -> Type | None:
    """The type of an operand; None for the literal None."""
    if isinstance(operand, (Value, Constant)):
        return operand.type
    return _LITERALS.get(operand.__class__)


def item_type(dtype: str) -> ScalarType:
    """What ``item`` reads from a tensor of ``dtype``."""
    if dtype == "bool":
        return BOOL
    return INT if dtype.startswith(("int", "uint")) else FLOAT


def type_problem(op: HostOp) -> str | None:
    """What is wrong with the opcode, operands, attributes or results of ``op``; None when it is well typed."""
    if op.opcode not in OPCODES and op.opcode != HOST_CALL:
        return f"unknown host operation {op.opcode}"
    operands = tuple(type_of(o) for o in op.operands)
    results = tuple(r.type for r in op.results)
    return _RULES[op.opcode](op, operands, results)


_Types = tuple[Type | None, ...]
_Rule = Callable[[HostOp, _Types, _Types], str | None]


def _expect(condition: bool, problem: str) -> str | None:
    return None if condition else problem


def _arithmetic(op: HostOp, operands: _Types, results: _Types) -> str | None:
    arity = 1 if op.opcode in ("neg", "pos", "abs") else 2
    if len(operands) != arity or not all(t in _NUMBERS for t in operands):
        return f"takes {arity} number(s)"
    expected = FLOAT if FLOAT in operands or op.opcode == "truediv" else INT
    allowed = (expected, FLOAT) if op.opcode == "pow" else (expected,)
    return _expect(len(results) == 1 and results[0] in allowed, f"gives {expected}")


def _extremum(op: HostOp, operands: _Types, results: _Types) -> str | None:
    if not operands or not all(isinstance(t, ScalarType) for t in operands):
        return "takes scalars"
    return _expect(len(results) == 1 and results[0] in operands, "gives one of its operands' types")


def _bitwise(op: HostOp, operands: _Types, results: _Types) -> str | None:
    arity = 1 if op.opcode == "invert" else 2
    if len(operands) != arity or not all(t in (INT, BOOL) for t in operands):
        return f"takes {arity} int(s) or bool(s)"
    logical = op.opcode in ("and", "or", "xor") and all(t == BOOL for t in operands)
    return _expect(results == (BOOL if logical else INT,), f"gives {BOOL if logical else INT}")


def _comparison(op: HostOp, operands: _Types, results: _Types) -> str | None:
    arity = 1 if op.opcode == "not" else 2
    if len(operands) != arity or not all(isinstance(t, ScalarType) for t in operands):
        return f"takes {arity} scalar(s)"
    return _expect(results == (BOOL,), "gives bool")


def _conversion(op: HostOp, operands: _Types, results: _Types) -> str | None:
    if op.opcode == "round_digits":
        fine = len(operands) == 2 and operands[1] == INT and results == operands[:1]
        return _expect(fine, "takes a number and an int, gives the number's type")
    if len(operands) != 1 or not isinstance(operands[0], ScalarType):
        return "takes one scalar"
    return _expect(results == (_CONVERSIONS[op.opcode],), f"gives {_CONVERSIONS[op.opcode]}")


def _math(op: HostOp, operands: _Types, results: _Types) -> str | None:
    arity = 2 if op.opcode in _BINARY_MATH else 1
    if len(operands) != arity or not all(t in _NUMBERS for t in operands):
        return f"takes {arity} number(s)"
    expected = _MATH_RESULTS.get(op.opcode, FLOAT)
    return _expect(results == (expected,), f"gives {expected}")


def _item(op: HostOp, operands: _Types, results: _Types) -> str | None:
    if len(operands) != 1 or not isinstance(operands[0], TensorType):
        return "takes one tensor"
    expected = item_type(operands[0].dtype)
    return _expect(results == (expected,), f"gives {expected}")


def _dim(op: HostOp, operands: _Types, results: _Types) -> str | None:
    tensor = operands[0] if len(operands) == 1 else None
    index = op.attributes[0] if len(op.attributes) == 1 else None
    if not isinstance(tensor, TensorType) or not isinstance(index, int) or not 0 <= index < tensor.rank:
        return "takes one tensor and the index of one of its dimensions"
    return _expect(results == (INT,), "gives int")


def _check(op: HostOp, operands: _Types, results: _Types) -> str | None:
    texts = len(op.attributes) == 2 and all(isinstance(a, str) for a in op.attributes)
    return _expect(operands == (BOOL,) and not results and texts, "takes a bool, an exception's name and a text")


def _full(op: HostOp, operands: _Types, results: _Types) -> str | None:
    if len(operands) != 1 or operands[0] not in _NUMBERS or not op.attributes:
        return "takes one number, a dtype and extents"
    dtype, *dims = op.attributes
    return _expect(results == (TensorType(str(dtype), tuple(dims)),), "gives a tensor of that dtype and extents")  # type: ignore[arg-type]


def _python_call(op: HostOp, operands: _Types, results: _Types) -> str | None:
    named = len(op.attributes) == 1 and isinstance(op.attributes[0], tuple) and ":" in str(op.attributes[0][0])
    fine = named and len(results) == 1 and isinstance(results[0], ScalarType)
    return _expect(fine, "takes operands and a name, gives one scalar")


def _host_call(op: HostOp, operands: _Types, results: _Types) -> str | None:
    match op.attributes:
        case (str(), tuple(keywords), "none" | "one" | "tuple" as form):
            named = len(keywords) <= len(operands) and all(isinstance(k, str) for k in keywords)
        case _:
            return "takes a name, keywords and a form"
    fits = form == "tuple" or len(results) == ("none", "one").index(form)
    given = all(isinstance(t, TensorType) or t in (*_NUMBERS, STR) for t in results)
    return _expect(named and fits and given, "takes operands, gives as many tensors and scalars as its form says")


def _format(op: HostOp, operands: _Types, results: _Types) -> str | None:
    return _expect(len(op.attributes) == 1 and results == (STR,), "takes one tuple of parts, gives str")


def _concat(op: HostOp, operands: _Types, results: _Types) -> str | None:
    return _expect(all(t == STR for t in operands) and results == (STR,), "takes strings, gives str")


def _output(op: HostOp, operands: _Types, results: _Types) -> str | None:
    return _expect(operands == (STR,) and not results and len(op.attributes) == 1, "takes one string and one attribute")


def _select(op: HostOp, operands: _Types, results: _Types) -> str | None:
    fine = len(operands) == 3 and operands[0] == BOOL and len(results) == 1 and None not in operands
    return _expect(fine, "takes a bool and two values, gives one")


def _makes_list(op: HostOp, operands: _Types, results: _Types) -> str | None:
    return _expect(len(results) == 1 and isinstance(results[0], ListType), "gives one list")


def _element_width(kind: Type | None) -> int:
    element = kind.element if isinstance(kind, ListType) else None
    return len(element.elements) if isinstance(element, TupleType) else 1


def _list_with(positions: int, elements: bool) -> _Rule:
    """(list, ``positions`` ints, an element if ``elements``) -> list"""

    def rule(op: HostOp, operands: _Types, results: _Types) -> str | None:
        if not operands or not isinstance(operands[0], ListType) or _makes_list(op, operands, results):
            return "takes a list, gives a list"
        width = _element_width(results[0]) if elements else 0
        if len(operands) != 1 + positions + width:
            return f"takes a list, {positions} position(s) and {width} element operand(s)"
        return _expect(all(t in (INT, None) for t in operands[1 : 1 + positions]), "positions are ints")

    return rule


def _list_get(op: HostOp, operands: _Types, results: _Types) -> str | None:
    if len(operands) != 2 or not isinstance(operands[0], ListType) or operands[1] != INT:
        return "takes a list and an int"
    width = _element_width(operands[0])
    return _expect(len(results) == width, f"gives {width} result(s)")


def _list_len(op: HostOp, operands: _Types, results: _Types) -> str | None:
    fine = len(operands) == 1 and isinstance(operands[0], ListType) and results == (INT,)
    return _expect(fine, "takes a list, gives int")


def _list_extend(op: HostOp, operands: _Types, results: _Types) -> str | None:
    fine = len(operands) == 2 and all(isinstance(t, ListType) for t in operands)
    return _expect(fine, "takes two lists") or _makes_list(op, operands, results)


def _list_to_tensor(op: HostOp, operands: _Types, results: _Types) -> str | None:
    attributes = 0 if op.opcode == "list_stack" else 1
    fine = len(operands) == 1 and isinstance(operands[0], ListType) and len(op.attributes) == attributes
    tensor = len(results) == 1 and isinstance(results[0], TensorType)
    return _expect(fine and tensor, "takes one list (and its attribute), gives a tensor")


def _tensor_list(op: HostOp, operands: _Types, results: _Types) -> str | None:
    fine = len(operands) == 1 and isinstance(operands[0], TensorType) and operands[0].rank > 0
    return _expect(fine, "takes one tensor with dims") or _makes_list(op, operands, results)


_RULES: dict[str, _Rule] = {
    **dict.fromkeys(ARITHMETIC, _arithmetic),
    **dict.fromkeys(("min", "max"), _extremum),
    **dict.fromkeys(BITWISE, _bitwise),
    **dict.fromkeys(COMPARISON, _comparison),
    **dict.fromkeys((*_CONVERSIONS, "round_digits"), _conversion),
    **dict.fromkeys(MATH, _math),
    "item": _item,
    "dim": _dim,
    "check": _check,
    "python_call": _python_call,
    HOST_CALL: _host_call,
    "full": _full,
    "format": _format,
    "concat": _concat,
    "print": _output,
    "warn": _output,
    "select": _select,
    "list": _makes_list,
    "list_len": _list_len,
    "list_get": _list_get,
    "list_set": _list_with(1, elements=True),
    "list_append": _list_with(0, elements=True),
    "list_insert": _list_with(1, elements=True),
    "list_pop": _list_with(1, elements=False),
    "list_extend": _list_extend,
    "list_slice": _list_with(2, elements=False),
    "list_reverse": _list_with(0, elements=False),
    "list_stack": _list_to_tensor,
    "list_cat": _list_to_tensor,
    "list_tensor": _list_to_tensor,
    "tensor_list": _tensor_list,
}
