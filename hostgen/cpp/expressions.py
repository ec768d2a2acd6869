"""Host operations as C++ expressions.

Operations that cannot fail are printed as C++ operators or calls; the others are calls that return a ``Result``, which
the emitter unpacks in a statement of its own.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping

from hostgen.cpp.literals import literal, quoted
from hostgen.cpp.types import cpp_dtype, cpp_type
from hostgen.expressions import ATOM, Expression
from hostgen.inlining import Inlining
from hostgen.names import host_function
from hostgen.ranges import SAFE_BITS
from toolchain.ir import BOOL, FLOAT, INT, STR, Constant, HostOp, ListType, Operand, TupleType, Type, Value
from toolchain.ir.signatures import type_of

# How tightly operators bind; higher binds tighter. Below sums, compilers warn of mixtures without parentheses.
_TERNARY, _LOGIC, _COMPARISON, _SUM, _PRODUCT, _UNARY = range(6)
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_SUMS = {"add": ("+", _SUM), "sub": ("-", _SUM), "mul": ("*", _PRODUCT)}
_LOGICAL = {"and": "&&", "or": "||", "xor": "!="}
_BITWISE = {"and": "&", "or": "|", "xor": "^"}
_MAY_OVERFLOW = frozenset({"add", "sub", "mul", "neg", "abs"})
_PLAIN_MATH = frozenset({"atan", "tanh", "fabs", "hypot", "isnan", "isinf", "isfinite"})
_SURE = frozenset(
    (*_COMPARISONS, *_LOGICAL, *_PLAIN_MATH, "not", "invert", "pos", "min", "max", "bool", "str", "dim")
) | {"select", "concat", "list", "list_len", "list_append", "list_insert", "list_extend", "list_slice", "list_reverse"}
# Functions of which the result's type says what they do.
_BY_RESULT = frozenset({"item", "pow", "tensor_list"})
_DEVICE = "session_.device()"


def is_sure(op: HostOp, bits: Mapping[Value, int]) -> bool:
    """Whether ``op`` always succeeds, so that C++ can print it inside of another expression."""
    if op.opcode in _MAY_OVERFLOW:
        return op.results[0].type == FLOAT or bits[op.results[0]] <= SAFE_BITS
    if op.opcode == "truediv":
        return type_of(op.operands[0]) == FLOAT and isinstance(op.operands[1], float) and op.operands[1] != 0
    if op.opcode in ("int", "round"):
        return type_of(op.operands[0]) in (INT, BOOL)
    if op.opcode == "float":
        return type_of(op.operands[0]) != STR
    return op.opcode in _SURE


class ExpressionPrinter:
    """Prints operands and host operations of one function.

    variable: the name of a value's variable. constant: the C++ expression of a weight.
    """

    def __init__(
        self,
        variable: Callable[[Value], str],
        constant: Callable[[Constant], str],
        inlining: Inlining,
        bits: Mapping[Value, int],
    ) -> None:
        self._variable = variable
        self._constant = constant
        self._made_by = inlining.made_by
        self._bits = bits

    def operand(self, operand: Operand) -> Expression:
        match operand:
            case Value() if operand in self._made_by:
                return self.operation(self._made_by[operand])
            case Value():
                return Expression(self._variable(operand))
            case Constant():
                return Expression(self._constant(operand))
            case int() | float() if str(operand).startswith("-"):
                return Expression(literal(operand), _UNARY)
            case _:
                return Expression(literal(operand))

    def typed(self, operand: Operand, wanted: Type | None) -> str:
        """``operand`` as an expression of exactly the C++ type of ``wanted``."""
        actual = type_of(operand)
        text = self.operand(operand).text
        if isinstance(actual, ListType) and cpp_type(actual) != cpp_type(wanted):
            # Only a list that is always empty fits a list of another type.
            return f"{cpp_type(wanted)}{{}}"
        if wanted == INT and (actual != INT or not isinstance(operand, Value)):
            return f"std::int64_t{{{text}}}"
        return f"static_cast<double>({text})" if wanted == FLOAT and actual != FLOAT else text

    def operation(self, op: HostOp) -> Expression:
        """The value of ``op``, or a ``Result`` with it unless ``is_sure(op)``."""
        if not is_sure(op, self._bits):
            return self._call(op)
        match op.opcode:
            case "add" | "sub" | "mul":
                symbol, binding = _SUMS[op.opcode]
                return self._binary(symbol, binding, op)
            case "neg" | "pos" | "invert":
                symbol = {"neg": "-", "pos": "+", "invert": "~"}[op.opcode]
                return Expression(symbol + self._number(op.operands[0]).within(ATOM), _UNARY)
            case "abs":
                return Expression(f"std::abs({self._number(op.operands[0]).text})")
            case "truediv":
                return self._binary("/", _PRODUCT, op)
            case "and" | "or" | "xor":
                return self._logic(op)
            case "min" | "max":
                kind = op.results[0].type
                items = ", ".join(self.typed(o, kind) for o in op.operands)
                return Expression(f"std::{op.opcode}<{cpp_type(kind)}>({{{items}}})")
            case "int" | "round" | "float":
                return Expression(self.typed(op.operands[0], op.results[0].type))
            case "bool" | "not":
                return self._truth(op.operands[0], op.opcode == "bool")
            case "concat":
                return Expression(" + ".join(self.operand(o).text for o in op.operands) or literal(""), _SUM)
            case "select":
                return self._select(op)
            case "list":
                return self._list(op)
            case _ if op.opcode in _COMPARISONS:
                return self._comparison(op)
            case _:
                return self._call(op)

    def _number(self, operand: Operand) -> Expression:
        """``operand``; a bool as the integer that it is to Python."""
        is_bool = type_of(operand) == BOOL
        return Expression(f"std::int64_t{{{self.operand(operand).text}}}") if is_bool else self.operand(operand)

    def _binary(self, symbol: str, binding: int, op: HostOp) -> Expression:
        left, right = map(self._number, op.operands)
        return Expression(f"{left.within(binding)} {symbol} {right.within(binding + 1)}", binding)

    def _logic(self, op: HostOp) -> Expression:
        # Operands have no effects, so that it does not matter whether the second one is evaluated.
        is_bool = op.results[0].type == BOOL
        left, right = map(self.operand if is_bool else self._number, op.operands)
        needed = _COMPARISON if is_bool and op.opcode != "xor" else _UNARY
        symbol = (_LOGICAL if is_bool else _BITWISE)[op.opcode]
        return Expression(f"{left.within(needed)} {symbol} {right.within(needed)}", _LOGIC)

    def _comparison(self, op: HostOp) -> Expression:
        types = {type_of(o) for o in op.operands}
        if types in ({INT, FLOAT}, {BOOL, FLOAT}) or (STR in types and len(types) > 1):
            # C++ would round the integer to a double first.
            return self._call(op)
        left, right = map(self.operand if types == {BOOL} else self._number, op.operands)
        return Expression(f"{left.within(_SUM)} {_COMPARISONS[op.opcode]} {right.within(_SUM)}", _COMPARISON)

    def _truth(self, operand: Operand, expected: bool) -> Expression:
        printed = self.operand(operand)
        kind = type_of(operand)
        if kind == BOOL:
            return printed if expected else Expression(f"!{printed.within(_UNARY)}", _UNARY)
        if kind == STR:
            return Expression(f"{'!' if expected else ''}{printed.within(ATOM)}.empty()", _UNARY)
        return Expression(f"{printed.within(_SUM)} {'!=' if expected else '=='} 0", _COMPARISON)

    def _select(self, op: HostOp) -> Expression:
        condition, a, b = op.operands
        kind = op.results[0].type
        text = f"{self.operand(condition).within(_LOGIC)} ? {self.typed(a, kind)} : {self.typed(b, kind)}"
        return Expression(text, _TERNARY)

    def _call(self, op: HostOp) -> Expression:
        template = f"<{cpp_type(op.results[0].type)}>" if op.opcode in _BY_RESULT else ""
        return Expression(f"ops::{host_function(op.opcode)}{template}({', '.join(self._arguments(op))})")

    def _arguments(self, op: HostOp) -> list[str]:
        match op.opcode:
            case "check":
                exception, text = op.attributes
                return [self.operand(op.operands[0]).text, quoted(str(exception)), quoted(_said(exception, text))]
            case "print" | "warn":
                return [self.operand(op.operands[0]).text, quoted(str(op.attributes[0]))]
            case "full":
                dtype, *dims = op.attributes
                [value] = self._exact(op)
                return [_DEVICE, value, cpp_dtype(str(dtype)), f"{{{', '.join(map(str, dims))}}}"]
            case "format":
                return [self._piece(op, part) for part in op.attributes[0]]  # type: ignore[attr-defined]
            case _ if op.opcode.startswith("list_"):
                return self._list_arguments(op)
            case "add" | "sub" | "mul" | "truediv" | "floordiv" | "mod":
                return [self.operand(o).text for o in op.operands]
            case _:
                return [*self._exact(op), *map(literal, op.attributes)]

    def _exact(self, op: HostOp) -> list[str]:
        return [self.typed(o, type_of(o)) for o in op.operands]

    def _piece(self, op: HostOp, part: str | tuple[int, str | None, str]) -> str:
        if isinstance(part, str):
            return literal(part)
        index, conversion, spec = part
        return f"ops::field({self._exact(op)[index]}, '{conversion or ' '}', {quoted(spec)})"

    def _list(self, op: HostOp) -> Expression:
        kind = op.results[0].type
        assert isinstance(kind, ListType)
        width = len(kind.element.elements) if isinstance(kind.element, TupleType) else 1
        groups = [op.operands[i : i + width] for i in range(0, len(op.operands), width)]
        return Expression(f"{cpp_type(kind)}{{{', '.join(self._element(g, kind) for g in groups)}}}")

    def _element(self, operands: tuple[Operand, ...], kind: ListType) -> str:
        """An element of a list of type ``kind``, which takes several operands if it is a tuple."""
        if not isinstance(kind.element, TupleType):
            return self.typed(operands[0], kind.element)
        items = ", ".join(map(self.typed, operands, kind.element.elements))
        return f"{cpp_type(kind.element)}{{{items}}}"

    def _list_arguments(self, op: HostOp) -> list[str]:
        values, *others = op.operands
        kind = op.results[0].type if op.results else None
        # What gives an element may give a list, too.
        is_list_again = isinstance(kind, ListType) and op.opcode != "list_get"
        source = self.typed(values, kind) if is_list_again else self.operand(values).text
        match op.opcode:
            case "list_append" | "list_insert" | "list_set":
                assert isinstance(kind, ListType)
                positions = 0 if op.opcode == "list_append" else 1
                indices = [self.operand(o).text for o in others[:positions]]
                return [source, *indices, self._element(tuple(others[positions:]), kind)]
            case "list_extend":
                return [source, self.typed(others[0], kind)]
            case "list_slice":
                return [source, *("std::nullopt" if o is None else self.operand(o).text for o in others)]
            case "list_cat":
                return [source, literal(op.attributes[0])]
            case "list_tensor":
                return [_DEVICE, source, cpp_dtype(str(op.attributes[0]))]
            case _:
                return [source, *(self.operand(o).text for o in others)]


def _said(exception: object, text: object) -> str:
    """What ``str`` of the exception gives; of a KeyError that is the text's ``repr``."""
    kind: type[BaseException] = getattr(builtins, str(exception))
    return str(kind(text)) if text else ""
