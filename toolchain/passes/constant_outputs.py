"""Evaluates at build time what depends on weights alone and leaves a subgraph (DyCL's S2). Not in place.

After identities, which shorten the expressions; before the partition, so that no subgraph returns a constant. What a
subgraph only uses inside stays an operation: ``prepare_weights`` evaluates it after the rewritings of subgraphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

import torch

from toolchain.ir import (
    Block,
    Constant,
    Function,
    Operand,
    Program,
    TensorOp,
    TensorType,
    Value,
    map_argument,
    operands_of,
    values_in,
)
from toolchain.ir.effects import is_deterministic
from toolchain.ir.semantics import run_tensor_op
from toolchain.passes.rewrite import each_function, substitute

# A folded value is stored in the bundle: beyond this many elements, computing it is cheaper than carrying it.
_MAX_ELEMENTS = 1 << 18


def fold_constant_outputs(program: Program) -> Program:
    constants = dict(program.constants)
    changed = each_function(program, lambda function: _fold(function, constants))
    return replace(changed, constants=constants)


def _fold(function: Function, constants: dict[str, torch.Tensor]) -> Function:
    makers = _weight_only(function)
    escaping = {v for b in function.blocks for v in _escaping(b) if v in makers and _is_small(v)}
    substitution: dict[Value, Operand] = {}
    # In order of definition, not of the set: names must not differ between two builds.
    for value in makers:
        if value in escaping:
            tensor = _evaluate(value, makers, constants).contiguous().clone()
            substitution[value] = _stored(tensor, value, constants)
    return substitute(function, substitution)


def _weight_only(function: Function) -> dict[Value, TensorOp]:
    """Values that no run-time value goes into, with the operations that make them."""
    makers: dict[Value, TensorOp] = {}
    for block in function.blocks:
        for op in block.operations:
            if isinstance(op, TensorOp) and is_deterministic(op) and all(v in makers for v in _values(op)):
                makers.update(dict.fromkeys(op.results, op))
    return makers


def _values(op: TensorOp) -> Iterator[Value]:
    return values_in(tuple(operands_of(op)))


def _escaping(block: Block) -> Iterator[Value]:
    """Values that the block reads other than by its tensor operations, or that it reads from other blocks."""
    own = {r for op in block.operations for r in op.results}
    for node in (*block.operations, block.terminator):
        inside = isinstance(node, TensorOp)
        yield from (v for v in values_in(tuple(operands_of(node))) if not inside or v not in own)


def _is_small(value: Value) -> bool:
    dims = value.type.dims if isinstance(value.type, TensorType) else ()
    known = [d for d in dims if d is not None]
    return len(known) == len(dims) and prod(known) <= _MAX_ELEMENTS


def _evaluate(value: Value, makers: dict[Value, TensorOp], constants: dict[str, torch.Tensor]) -> torch.Tensor:
    def datum(leaf: object) -> object:
        if isinstance(leaf, Value):
            return _evaluate(leaf, makers, constants)
        return constants[leaf.name] if isinstance(leaf, Constant) else leaf

    op = makers[value]
    args, kwargs = map_argument(op.args, datum), {k: map_argument(a, datum) for k, a in op.kwargs}
    result = run_tensor_op(op.target, args, kwargs)[op.results.index(value)]
    assert isinstance(result, torch.Tensor)
    return result.detach()


def _stored(tensor: torch.Tensor, value: Value, constants: dict[str, torch.Tensor]) -> Constant:
    assert isinstance(value.type, TensorType)
    number = sum(name.startswith("folded.") for name in constants)
    constant = Constant(f"folded.{number}", value.type)
    constants[constant.name] = tensor
    return constant
