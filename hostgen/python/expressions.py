"""Host operations as Python expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from hostgen.expressions import ATOM, Expression
from hostgen.inlining import Inlining
from hostgen.names import host_function
from hostgen.ranges import SAFE_BITS
from toolchain.ir import (
    FLOAT,
    HOST_CALL,
    Constant,
    HostOp,
    Leaf,
    Object,
    Operand,
    Structure,
    UserFunction,
    Value,
    user_function,
)
from toolchain.ir import Mapping as MappingNode
from toolchain.ir import Sequence as SequenceNode

# How tightly Python's operators bind; higher binds tighter.
_TERNARY, _NOT, _COMPARISON, _SUM, _UNARY = 0, 3, 4, 9, 11
_BINARY = {
    **dict.fromkeys(("lt", "le", "gt", "ge", "eq", "ne"), _COMPARISON),
    "or": 5,
    "xor": 6,
    "and": 7,
    **dict.fromkeys(("lshift", "rshift"), 8),
    **dict.fromkeys(("add", "sub"), _SUM),
    **dict.fromkeys(("mul", "truediv", "floordiv", "mod"), 10),
}
_SYMBOLS = {
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="},
    **{"or": "|", "xor": "^", "and": "&", "rshift": ">>"},
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%"},
}
_UNARY_SYMBOLS = {"neg": "-", "pos": "+", "invert": "~"}
_BUILTINS = frozenset({"abs", "min", "max", "float", "bool", "str", "repr"})
_MAY_OVERFLOW = frozenset({"add", "sub", "mul", "floordiv", "neg", "abs"})
# The runtime takes what belongs to these two by keyword, because they have any number of operands.
_KEYWORD_ATTRIBUTES = {"format": "parts", "list": "arity", "python_call": "function"}


def negated(condition: Expression) -> str:
    return f"not {condition.within(_NOT)}"


class ExpressionPrinter:
    """Prints operands, host operations and results of one function.

    variable: the name of a value's variable. bits: bounds of integers (``hostgen.ranges``). host_calls: numbers of the
    user's functions.
    """

    def __init__(
        self,
        variable: Callable[[Value], str],
        inlining: Inlining,
        bits: Mapping[Value, int],
        host_calls: Mapping[UserFunction, int],
    ) -> None:
        self._variable = variable
        self._made_by = inlining.made_by
        self._bits = bits
        self._host_calls = host_calls

    def operand(self, operand: Operand) -> Expression:
        match operand:
            case Value() if operand in self._made_by:
                return self.operation(self._made_by[operand])
            case Value():
                return Expression(self._variable(operand))
            case Constant():
                return Expression(f'rt.constants["{operand.name}"]')
            case _:
                return literal(operand)

    def operation(self, op: HostOp) -> Expression:
        if op.opcode in _MAY_OVERFLOW and not self._is_safe(op):
            return self._call(f"ops.{host_function(op.opcode)}", op)
        if op.opcode in _SYMBOLS:
            return self._binary(_SYMBOLS[op.opcode], _BINARY[op.opcode], op)
        if op.opcode in _UNARY_SYMBOLS:
            return Expression(_UNARY_SYMBOLS[op.opcode] + self.operand(op.operands[0]).within(_UNARY), _UNARY)
        if op.opcode in _BUILTINS:
            return self._call(op.opcode, op)
        match op.opcode:
            case "not":
                return Expression(negated(self.operand(op.operands[0])), _NOT)
            case "select":
                condition, a, b = (self.operand(o).within(_TERNARY + 1) for o in op.operands)
                return Expression(f"{a} if {condition} else {b}", _TERNARY)
            case _ if op.opcode == HOST_CALL:
                arguments = ", ".join(self.operand(o).text for o in op.operands)
                return Expression(f"host_calls[{self._host_calls[user_function(op)]}]({arguments})")
            case _:
                return self._call(f"ops.{host_function(op.opcode)}", op)

    def _is_safe(self, op: HostOp) -> bool:
        return op.results[0].type == FLOAT or self._bits[op.results[0]] <= SAFE_BITS

    def _binary(self, symbol: str, binding: int, op: HostOp) -> Expression:
        left, right = map(self.operand, op.operands)
        # Comparisons would chain, the others group to the left.
        left_text = left.within(binding + 1 if binding == _COMPARISON else binding)
        return Expression(f"{left_text} {symbol} {right.within(binding + 1)}", binding)

    def _call(self, function: str, op: HostOp) -> Expression:
        arguments = [self.operand(o).text for o in op.operands]
        name = _KEYWORD_ATTRIBUTES.get(op.opcode)
        if name is None:
            arguments += [literal(a).text for a in op.attributes]
        elif any(op.attributes):
            arguments.append(f"{name}={literal(op.attributes[0]).text}")
        return Expression(f"{function}({', '.join(arguments)})")

    def structure(self, tree: Structure) -> str:
        """A result as a Python display; sizes become tuples."""
        match tree:
            case Leaf():
                return self.operand(tree.operand).text
            case SequenceNode(kind="list"):
                return f"[{self._items(tree.items)}]"
            case SequenceNode(kind="set"):
                return f"{{{self._items(tree.items)}}}" if tree.items else "set()"
            case SequenceNode():
                return display_tuple(map(self.structure, tree.items))
            case MappingNode():
                return self._dict(tree.keys, tree.items)
            case Object():
                fields = self._dict(tree.fields, tree.items)
                return f'rt.make("{tree.kind}", "{tree.module}", "{tree.qualname}", {fields})'

    def _items(self, items: Iterable[Structure]) -> str:
        return ", ".join(map(self.structure, items))

    def _dict(self, keys: tuple[object, ...], items: tuple[Structure, ...]) -> str:
        pairs = (f"{literal(k).text}: {self.structure(i)}" for k, i in zip(keys, items, strict=True))
        return f"{{{', '.join(pairs)}}}"


def display_tuple(items: Iterable[str]) -> str:
    texts = tuple(items)
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def literal(value: object) -> Expression:
    """A Python literal; also infinities and not-a-number, which have none."""
    if isinstance(value, tuple):
        return Expression(display_tuple(literal(v).text for v in value))
    if isinstance(value, float) and not math.isfinite(value):
        return Expression(f'float("{value}")')
    if isinstance(value, str) and '"' not in value:
        # Double quotes, as everywhere in the module. repr took single ones unless the text holds one.
        return Expression(f'"{repr(value)[1:-1]}"')
    is_negative = isinstance(value, (int, float)) and math.copysign(1, value) < 0
    return Expression(repr(value), _UNARY if is_negative else ATOM)
