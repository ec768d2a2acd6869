"""Arithmetic on numbers of the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hostgen.ranges import SAFE_BITS
from hostgen.vm.types import KINDS, Inexpressible, kind_of, literal
from toolchain.ir import FLOAT, INT, HostOp, Operand, Value
from toolchain.ir.hostops import COMPARISON, MATH
from toolchain.ir.signatures import type_of

# Integers of at most so many bits are doubles.
_EXACT_BITS = 53
_UNCHECKED = {"add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli"}
_FLOAT = {"add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf"}
_BITWISE = {"and": "arith.andi", "or": "arith.ori", "xor": "arith.xori"}
_INT_ORDER = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
# Only these are right with NaN: see ``scalars.mlir``.
_FLOAT_ORDER = {"lt": "olt", "le": "ole", "eq": "oeq"}
_SWAPPED = {"gt": "lt", "ge": "le"}
_IMPLICIT = {
    ("bool", "int"): "arith.extui {} : i1 to i64",
    ("bool", "float"): "arith.uitofp {} : i1 to f64",
    ("int", "float"): "arith.sitofp {} : i64 to f64",
}
_MISSING_MATH = frozenset({"tan", "asin", "acos", "sinh", "cosh", "hypot"})

Give = Callable[[Value | None, str], str]
OperandAs = Callable[[Operand, str | None], str]


class ScalarPrinter:
    """Prints the operations on numbers of one function.

    give:    emits ``result = text`` and returns the name. operand: emits an operand, converted to a kind.
    bits:    bounds of integers (``hostgen.ranges``).
    """

    def __init__(self, give: Give, operand: OperandAs, bits: Mapping[Value, int]) -> None:
        self._give = give
        self._operand = operand
        self._bits = bits

    def operation(self, op: HostOp) -> None:
        """Emits ``op``. Raises ``Inexpressible`` for what the VM has no operation for."""
        kinds = [kind_of(type_of(o)) for o in op.operands]
        match op.opcode:
            case "add" | "sub" | "mul" | "floordiv" | "mod" | "pow" | "truediv" | "neg" | "pos" | "abs":
                self._arithmetic(op, kinds)
            case "min" | "max":
                self._extremum(op, kinds)
            case "and" | "or" | "xor":
                kind = kind_of(op.results[0].type)
                left, right = (self._operand(o, kind) for o in op.operands)
                self._give(op.results[0], f"{_BITWISE[op.opcode]} {left}, {right} : {KINDS[kind]}")
            case "invert":
                name, ones = self._operand(op.operands[0], "int"), self._give(None, "arith.constant -1 : i64")
                self._give(op.results[0], f"arith.xori {name}, {ones} : i64")
            case "lshift" | "rshift":
                self._function(op, f"{op.opcode}_int", ["int", "int"])
            case "not":
                self._not(op)
            case "select":
                self._select(op)
            case "int" | "float" | "bool" | "round" | "round_digits":
                self._conversion(op, kinds)
            case opcode if opcode in COMPARISON:
                self._comparison(op, kinds)
            case opcode if opcode in MATH:
                self._math(op, kinds)
            case opcode:
                raise Inexpressible(f"{opcode}()")

    def converted(self, name: str, own: str, kind: str) -> str:
        """The number ``name`` as another kind, as Python converts implicitly (or as a truth value)."""
        if kind == "bool":
            zero = self._give(None, f"arith.constant {literal(0.0 if own == 'float' else 0)}")
            if own == "float":
                return self._opposite(None, self._give(None, f"arith.cmpf oeq, {name}, {zero} : f64"))
            return self._give(None, f"arith.cmpi ne, {name}, {zero} : i64")
        return self._give(None, _IMPLICIT[(own, kind)].format(name))

    def _function(self, op: HostOp, name: str, kinds: list[str]) -> None:
        """Emits a call of a function of ``scalars.mlir``."""
        operands = ", ".join(self._operand(o, k) for o, k in zip(op.operands, kinds, strict=True))
        types = ", ".join(KINDS[k] for k in kinds)
        result = KINDS[kind_of(op.results[0].type)]
        self._give(op.results[0], f"util.call @{name}({operands}) : ({types}) -> {result}")

    def _arithmetic(self, op: HostOp, kinds: list[str]) -> None:
        is_float = op.results[0].type == FLOAT
        kind = "float" if is_float and not (op.opcode == "truediv" and "float" not in kinds) else "int"
        names = [kind] * len(kinds)
        if op.opcode == "pos":
            self._copy(op, kind)
        elif op.opcode in _FLOAT and is_float:
            self._binary(op, _FLOAT[op.opcode], "float")
        elif op.opcode in _UNCHECKED and self._bits[op.results[0]] <= SAFE_BITS:
            self._binary(op, _UNCHECKED[op.opcode], "int")
        elif op.opcode in ("neg", "abs") and is_float:
            function = {"neg": "arith.negf", "abs": "math.absf"}[op.opcode]
            self._give(op.results[0], f"{function} {self._operand(op.operands[0], 'float')} : f64")
        else:
            self._function(op, f"{op.opcode}_{kind}", names)

    def _binary(self, op: HostOp, operation: str, kind: str) -> None:
        left, right = (self._operand(o, kind) for o in op.operands)
        self._give(op.results[0], f"{operation} {left}, {right} : {KINDS[kind]}")

    def _copy(self, op: HostOp, kind: str) -> None:
        """The operand itself: as what is chosen whatever the condition."""
        name, true = self._operand(op.operands[0], kind), self._give(None, "arith.constant true")
        self._give(op.results[0], f"arith.select {true}, {name}, {name} : {KINDS[kind]}")

    def _extremum(self, op: HostOp, kinds: list[str]) -> None:
        kind = kind_of(op.results[0].type)
        if set(kinds) != {kind}:
            raise Inexpressible(f"{op.opcode}() of different types", "convert all of them to float first")
        first, *others = (self._operand(o, kind) for o in op.operands)
        less = {"float": "arith.cmpf olt", "int": "arith.cmpi slt", "bool": "arith.cmpi ult"}[kind]
        for index, other in enumerate(others):
            low, high = (other, first) if op.opcode == "min" else (first, other)
            better = self._give(None, f"{less}, {low}, {high} : {KINDS[kind]}")
            result = op.results[0] if index == len(others) - 1 else None
            first = self._give(result, f"arith.select {better}, {other}, {first} : {KINDS[kind]}")
        if not others:
            self._copy(op, kind)

    def _not(self, op: HostOp) -> None:
        self._opposite(op.results[0], self._operand(op.operands[0], "bool"))

    def _opposite(self, result: Value | None, name: str) -> str:
        return self._give(result, f"util.call @opposite({name}) : (i1) -> i1")

    def _select(self, op: HostOp) -> None:
        kind = kind_of(op.results[0].type)
        condition = self._operand(op.operands[0], "bool")
        a, b = (self._operand(o, kind) for o in op.operands[1:])
        self._give(op.results[0], f"arith.select {condition}, {a}, {b} : {KINDS[kind]}")

    def _comparison(self, op: HostOp, kinds: list[str]) -> None:
        if "float" not in kinds:
            left, right = (self._operand(o, "int") for o in op.operands)
            self._give(op.results[0], f"arith.cmpi {_INT_ORDER[op.opcode]}, {left}, {right} : i64")
        else:
            left, right = (self._exact(o, k) for o, k in zip(op.operands, kinds, strict=True))
            if op.opcode in _SWAPPED:
                left, right = right, left
            order = _FLOAT_ORDER.get(_SWAPPED.get(op.opcode, op.opcode))
            if order is not None:
                self._give(op.results[0], f"arith.cmpf {order}, {left}, {right} : f64")
            else:
                self._opposite(op.results[0], self._give(None, f"arith.cmpf oeq, {left}, {right} : f64"))

    def _exact(self, operand: Operand, kind: str) -> str:
        """``operand`` as a double; an integer that is none ends the call."""
        bits = self._bits.get(operand, 0) if isinstance(operand, Value) else int(operand or 0).bit_length()  # type: ignore[arg-type]
        if kind != "int" or bits <= _EXACT_BITS:
            return self._operand(operand, "float")
        return self._give(None, f"util.call @exact_float({self._operand(operand, 'int')}) : (i64) -> f64")

    def _conversion(self, op: HostOp, kinds: list[str]) -> None:
        if op.opcode == "round_digits":
            if kinds[0] == "float" or not (isinstance(op.operands[1], int) and op.operands[1] >= 0):
                raise Inexpressible("round() to a number of digits", "round a multiple of it to an int")
            self._copy(HostOp("pos", op.operands[:1], op.results), "int")
        elif op.opcode in ("int", "round") and kinds[0] == "float":
            self._function(op, f"{op.opcode}_float", ["float"])
        else:
            self._copy(op, "int" if op.results[0].type == INT else op.opcode)

    def _math(self, op: HostOp, kinds: list[str]) -> None:
        if op.opcode in _MISSING_MATH:
            raise Inexpressible(f"math.{op.opcode}()", "compute it with torch")
        if op.opcode in ("floor", "ceil", "trunc") and kinds[0] != "float":
            self._copy(op, "int")
        else:
            name = "int_float" if op.opcode == "trunc" else f"{op.opcode}_float"
            self._function(op, name, ["float"] * len(kinds))
