"""Replaces the result of an operation that changes nothing by its operand (DyCL's S1). Not in place.

Before the partition, so that no subgraph returns one of its inputs, and before common subexpressions, which then see
through copies. Values are immutable: a copy, a detached or re-laid-out tensor is the tensor.
"""

from __future__ import annotations

from dataclasses import replace

from toolchain.ir import Argument, Block, Constant, Function, Operand, Operation, Program, TensorOp, TensorType, Value
from toolchain.passes.rewrite import each_function, substitute

_COPIES = frozenset({"alias", "detach", "clone", "contiguous", "lift", "lift_fresh", "lift_fresh_copy"})
# These are the identity if neither the dtype nor any extent changes.
_SHAPES = frozenset({"view", "reshape", "_unsafe_view", "flatten", "squeeze", "expand", "slice", "narrow", "view_as"})
_CASTS = frozenset({"_to_copy", "to", "type_as", "_conj", "resolve_conj", "resolve_neg"})


def replace_identities(program: Program) -> Program:
    return each_function(program, _replace)


def _replace(function: Function) -> Function:
    substitution: dict[Value, Operand] = {}
    blocks = tuple(_strip(b, substitution) for b in function.blocks)
    return substitute(replace(function, blocks=blocks), substitution)


def _strip(block: Block, substitution: dict[Value, Operand]) -> Block:
    kept: list[Operation] = []
    for op in block.operations:
        if isinstance(op, TensorOp) and _is_identity(op):
            substitution[op.results[0]] = op.args[0]
        else:
            kept.append(_as_reshape(op))
    return replace(block, operations=tuple(kept))


def _as_reshape(op: Operation) -> Operation:
    # A view needs strides that a dropped copy may have provided; reshape is the same function without that demand.
    if isinstance(op, TensorOp) and op.target in ("aten.view.default", "aten._unsafe_view.default"):
        return replace(op, target="aten.reshape.default")
    return op


def _is_identity(op: TensorOp) -> bool:
    if len(op.results) != 1 or not op.args or not isinstance(op.args[0], (Value, Constant)):
        return False
    before, after = op.args[0].type, op.results[0].type
    if not isinstance(before, TensorType) or before != after:
        return False
    name = op.target.split(".")[1]
    if name in _COPIES or name in _CASTS:
        return True
    return (name in _SHAPES and before.is_static) or _permutes_nothing(name, op.args[1:], before.rank)


def _permutes_nothing(name: str, arguments: tuple[Argument, ...], rank: int) -> bool:
    match name, arguments:
        case "permute", [dims]:
            return [d % rank for d in dims] == list(range(rank))
        case (("transpose" | "swapaxes"), [int() as a, int() as b]) if rank:
            return a % rank == b % rank
        case "dropout", [_, False]:
            return True
        case _:
            return False
