"""Drops operations, block parameters and results that nothing observable depends on. Not in place.

After the passes that replace values, which leave definitions without uses; before partition, so that no subgraph
computes or returns anything in vain. Checks, prints, warnings and what may raise in Python stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from toolchain.ir import (
    Block,
    Function,
    HostOp,
    Jump,
    Operation,
    Program,
    Return,
    TensorOp,
    Value,
    edges_of,
    operands_of,
    values_in,
)
from toolchain.ir.effects import has_effect
from toolchain.ir.ops import Branch, Raise
from toolchain.passes.redundant_parameters import without_parameters
from toolchain.passes.rewrite import each_function


def drop_dead_values(program: Program) -> Program:
    return each_function(program, _drop)


def _drop(function: Function) -> Function:
    live = live_values(function)
    trimmed = without_parameters(function, {p for b in function.blocks[1:] for p in b.parameters} - live)
    return replace(trimmed, blocks=tuple(_live_part(b, live) for b in trimmed.blocks))


def _live_part(block: Block, live: set[Value]) -> Block:
    return replace(block, operations=tuple(op for op in block.operations if _is_live(op, live)))


def _is_live(op: Operation, live: set[Value]) -> bool:
    return has_effect(op) or not live.isdisjoint(op.results)


def live_values(function: Function) -> set[Value]:
    """Values that an effect, a decision or an ending depends on; cycles of values that only feed each other do not."""
    feeds = dict(_feeds(function))
    live: set[Value] = set()
    stack = [v for b in function.blocks for v in _roots(b)]
    while stack:
        value = stack.pop()
        if value not in live:
            live.add(value)
            stack.extend(feeds.get(value, ()))
    return live


def _roots(block: Block) -> Iterator[Value]:
    for op in block.operations:
        if has_effect(op):
            yield from values_in(tuple(operands_of(op)))
    match block.terminator:
        case Branch(condition=condition):
            yield condition
        case Return() | Raise() as ending:
            yield from values_in(tuple(operands_of(ending)))
        case Jump():
            pass


def _feeds(function: Function) -> Iterable[tuple[Value, list[Value]]]:
    """Every value with the values it is made from: operands, or what the edges pass for a parameter."""
    feeds: dict[Value, list[Value]] = {}
    parameters = {b.id: b.parameters for b in function.blocks}
    for block in function.blocks:
        for op in block.operations:
            assert isinstance(op, (TensorOp, HostOp)), "dead values are dropped before the partition"
            for result in op.results:
                feeds[result] = list(values_in(tuple(operands_of(op))))
        for edge in edges_of(block.terminator):
            for parameter, argument in zip(parameters[edge.target], edge.arguments, strict=True):
                feeds.setdefault(parameter, []).extend(values_in(argument))
    return feeds.items()
