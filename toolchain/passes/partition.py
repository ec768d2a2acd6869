"""Groups the tensor operations of every block into as few subgraph calls as possible. Not in place.

After all passes that look at single tensor operations; before deduplication, which compares subgraphs. Operations that
need a scalar which the host reads from an earlier call of the block go into a later call; all others share one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from toolchain.ir import (
    Block,
    Call,
    Constant,
    Function,
    Operation,
    Program,
    Subgraph,
    TensorOp,
    Value,
    operands_of,
)
from toolchain.passes.levels import levels
from toolchain.passes.rewrite import used_values


def partition(program: Program) -> Program:
    subgraphs: dict[str, Subgraph] = {}
    functions = tuple(_partition_function(f, subgraphs) for f in program.functions)
    return replace(program, functions=functions, subgraphs=subgraphs)


def _partition_function(function: Function, subgraphs: dict[str, Subgraph]) -> Function:
    readers: defaultdict[Value, set[int]] = defaultdict(set)
    for block in function.blocks:
        for value in used_values(block):
            readers[value].add(block.id)
    return replace(function, blocks=tuple(_partition_block(b, readers, subgraphs) for b in function.blocks))


def _partition_block(block: Block, readers: dict[Value, set[int]], subgraphs: dict[str, Subgraph]) -> Block:
    by_level: defaultdict[int, list[Operation]] = defaultdict(list)
    for op, level in zip(block.operations, levels(block), strict=True):
        by_level[level].append(op)
    operations: list[Operation] = []
    for level in sorted(by_level):
        group = tuple(op for op in by_level[level] if isinstance(op, TensorOp))
        operations += [op for op in by_level[level] if not isinstance(op, TensorOp)]
        results = tuple(_observed(group, block, readers))
        if results:
            operations.append(_call(group, results, subgraphs))
    return replace(block, operations=tuple(operations))


def _observed(group: tuple[TensorOp, ...], block: Block, readers: dict[Value, set[int]]) -> Iterator[Value]:
    """Results of ``group`` that something outside of it reads."""
    members = set(map(id, group))
    outside = (node for node in (*block.operations, block.terminator) if id(node) not in members)
    read_here = {v for node in outside for v in operands_of(node) if isinstance(v, Value)}
    for op in group:
        yield from (r for r in op.results if r in read_here or readers.get(r, set()) - {block.id})


def _call(group: tuple[TensorOp, ...], results: tuple[Value, ...], subgraphs: dict[str, Subgraph]) -> Call:
    made = {r for op in group for r in op.results}
    read = dict.fromkeys(x for op in group for x in operands_of(op))
    parameters = tuple(x for x in read if isinstance(x, Value) and x not in made)
    weights = tuple(x for x in read if isinstance(x, Constant))
    name = f"sg{len(subgraphs)}"
    subgraphs[name] = Subgraph(name, parameters, weights, group, results, group[0].location)
    return Call(name, parameters, tuple(w.name for w in weights), results, group[0].location)
