"""Computes what a block computes twice only once. Not in place.

After merging and identities, which make blocks long and expressions equal; before the partition, which would otherwise
return both copies. Within one block only: across blocks a value would have to be kept alive.
"""

from __future__ import annotations

from dataclasses import replace

from toolchain.ir import Block, Call, Function, Operand, Operation, Program, TensorOp, Value
from toolchain.ir.effects import is_deterministic
from toolchain.passes.rewrite import each_function, identity_key, resolved, substitute, substitute_operation


def share_common_subexpressions(program: Program) -> Program:
    return each_function(program, _share)


def _share(function: Function) -> Function:
    substitution: dict[Value, Operand] = {}
    blocks = tuple(_share_block(b, substitution) for b in function.blocks)
    return substitute(replace(function, blocks=blocks), resolved(substitution))


def _share_block(block: Block, substitution: dict[Value, Operand]) -> Block:
    known: dict[object, tuple[Value, ...]] = {}
    kept: list[Operation] = []
    for original in block.operations:
        op = substitute_operation(original, substitution)
        earlier = known.get(_key(op)) if is_deterministic(op) else None
        if earlier is not None and len(earlier) == len(op.results):
            substitution.update(zip(op.results, earlier, strict=True))
        else:
            known[_key(op)] = op.results
            kept.append(op)
    return replace(block, operations=tuple(kept))


def _key(op: Operation) -> object:
    return (_expression(op), tuple(r.type for r in op.results))


def _expression(op: Operation) -> object:
    match op:
        case TensorOp():
            return (op.target, identity_key(op.args), tuple((k, identity_key(a)) for k, a in sorted(op.kwargs)))
        case Call():
            return (op.subgraph, op.operands, op.weights)
        case _:
            return (op.opcode, identity_key(op.operands), identity_key(op.attributes))
