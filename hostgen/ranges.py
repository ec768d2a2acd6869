"""How large integers can get: hosts check for overflow beyond 64 bits only where it can happen."""

from __future__ import annotations

from collections.abc import Mapping

from toolchain.ir import BOOL, INT, Constant, Function, HostOp, Operand, TensorType, Value
from toolchain.ir.graph import Cfg

# A result of at most this many bits (sign apart) needs no check.
SAFE_BITS = 62
_UNKNOWN = 64
# Extents, lengths, and what moves by small steps from such a start: no program lives to count further.
_COUNT = 47
_SMALL_STEP = 1 << 15
_ITEMS = {"bool": 1, "uint8": 8, "int8": 7, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32}
# Parameters that still grow after so many rounds grow without bound, as far as this analysis can tell.
_ROUNDS = 8


def integer_bits(function: Function) -> Mapping[Value, int]:
    """An upper bound of the magnitude's bits for every int and bool value of ``function``."""
    return _Ranges(function).solve()


class _Ranges:
    def __init__(self, function: Function) -> None:
        self._cfg = Cfg(function)
        self._bits: dict[Value, int] = {}
        ops = (op for b in self._cfg.blocks.values() for op in b.operations)
        self._made_by = {op.results[0]: op for op in ops if isinstance(op, HostOp) and len(op.results) == 1}
        self._incoming = {
            parameter: [edge.arguments[index] for _, edge in self._cfg.incoming[block.id]]
            for block in self._cfg.blocks.values()
            for index, parameter in enumerate(block.parameters)
        }

    def solve(self) -> Mapping[Value, int]:
        for parameter in self._cfg.blocks[self._cfg.entry].parameters:
            self._bits[parameter] = _UNKNOWN
        for number in range(2 * _ROUNDS + len(self._incoming)):
            if not self._update(give_up=number >= _ROUNDS):
                return self._bits
        raise AssertionError("bounds only grow, and each round after the first few makes one final")

    def _update(self, give_up: bool) -> bool:
        """One round over all blocks; whether anything changed."""
        changed = False
        for block in self._cfg.blocks.values():
            for parameter in block.parameters:
                if parameter.type in (INT, BOOL) and block.id != self._cfg.entry:
                    bits = self._of_parameter(parameter)
                    if bits > self._bits.get(parameter, 0):
                        changed = True
                        self._bits[parameter] = _UNKNOWN if give_up else bits
            for op in block.operations:
                if isinstance(op, HostOp):
                    numbers = (r for r in op.results if r.type in (INT, BOOL))
                    self._bits.update({r: min(_UNKNOWN, self._result_bits(op, r)) for r in numbers})
        return changed

    def _of_parameter(self, parameter: Value) -> int:
        starts = [a for a in self._incoming[parameter] if not self._is_step(a, parameter, frozenset())]
        bits = max((self.of(a) for a in starts), default=_UNKNOWN)
        return max(bits, _COUNT) if len(starts) < len(self._incoming[parameter]) else bits

    def _is_step(self, operand: Operand, parameter: Value, seen: frozenset[Value]) -> bool:
        """Whether ``operand`` is ``parameter`` plus or minus small literals, on whatever way it got here."""
        if operand == parameter:
            return True
        if not isinstance(operand, Value) or operand in seen:
            return False
        op = self._made_by.get(operand)
        if op is not None and op.opcode in ("add", "sub"):
            base, step = op.operands
            return _is_small_literal(step) and self._is_step(base, parameter, seen | {operand})
        incoming = self._incoming.get(operand, [])
        return bool(incoming) and all(self._is_step(a, parameter, seen | {operand}) for a in incoming)

    def of(self, operand: Operand) -> int:
        if isinstance(operand, Value):
            return self._bits.get(operand, 0)
        return operand.bit_length() if isinstance(operand, int) else _UNKNOWN

    def _result_bits(self, op: HostOp, result: Value) -> int:
        bits = [self.of(o) for o in op.operands]
        match op.opcode:
            case "add" | "sub":
                return max(bits) + 1
            case "mul":
                return sum(bits)
            case "floordiv" | "neg" | "pos" | "abs" | "min" | "max" | "and" | "or" | "xor" | "invert":
                return max(bits)
            case "mod":
                return bits[1]
            case "select":
                return max(bits[1:])
            case "rshift" | "int" | "round":
                return bits[0] if op.operands and _is_integer(op.operands[0]) else _UNKNOWN
            case "dim" | "list_len":
                return _COUNT
            case "item":
                return _item_bits(op.operands[0])
            case _:
                return 1 if result.type == BOOL else _UNKNOWN


def _is_small_literal(operand: Operand) -> bool:
    return isinstance(operand, int) and abs(operand) <= _SMALL_STEP


def _is_integer(operand: Operand) -> bool:
    return operand.type in (INT, BOOL) if isinstance(operand, Value) else isinstance(operand, int)


def _item_bits(operand: Operand) -> int:
    tensor = operand.type if isinstance(operand, (Value, Constant)) else None
    return _ITEMS.get(tensor.dtype, _UNKNOWN) if isinstance(tensor, TensorType) else _UNKNOWN
