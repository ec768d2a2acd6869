"""How many subgraph calls of its block an operation has to wait for."""

from __future__ import annotations

from toolchain.ir import Block, HostOp, ScalarType, TensorOp, Value, operands_of
from toolchain.ir.effects import has_effect
from toolchain.ir.hostops import HOST_CALL

# IREE 3.13 computes wrong positions when one module holds two of these (a canary in tests/lowering tells when that is
# over): each gets a call of its own.
ONE_PER_CALL = frozenset(("aten.nonzero.default",))

# What a program may rely on to raise before it goes on with an index or a size.
_GUARDS = frozenset(("check", HOST_CALL))


def levels(block: Block) -> tuple[int, ...]:
    """One number per operation: how many calls of the block must have returned before it can run.

    Tensor operations of one level form one call. A host operation that reads a tensor made at level n has level n + 1;
    effects keep their order relative to each other, because they (and what they raise) can be told apart.
    """
    after: dict[Value, int] = {}
    latest_effect = latest_check = 0
    latest_alone = -1
    found: list[int] = []
    for op in block.operations:
        operands = tuple(operands_of(op))
        level = max((_ready(v, after, op) for v in operands if isinstance(v, Value)), default=0)
        # An index or a size may be what an earlier check guards: out of range it could crash the device.
        if isinstance(op, TensorOp) and any(isinstance(o.type, ScalarType) for o in operands):
            level = max(level, latest_check)
        if has_effect(op):
            level = latest_effect = max(level, latest_effect)
            latest_check = level if isinstance(op, HostOp) and op.opcode in _GUARDS else latest_check
        if isinstance(op, TensorOp) and op.target in ONE_PER_CALL:
            level = latest_alone = max(level, latest_alone + 1)
        found.append(level)
        # Tensors made by a call are there one level later, for hosts; odd numbers stand for "made by call n".
        after.update(dict.fromkeys(op.results, 2 * level + (1 if isinstance(op, TensorOp) else 0)))
    return tuple(found)


def _ready(value: Value, after: dict[Value, int], reader: object) -> int:
    made = after.get(value, 0)
    level, by_call = divmod(made, 2)
    return level + by_call if isinstance(reader, HostOp) else level
