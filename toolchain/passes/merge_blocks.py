"""Joins straight-line chains of blocks into one block, and bends edges past empty blocks. Not in place.

Before everything that works block by block (common subexpressions, partition): the fewer and longer the blocks, the
fewer and larger the subgraphs. Again after dead values went, which leaves blocks empty. No branch is ever dropped: each
stands for a decision that verification counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from toolchain.ir import Block, Edge, Function, Jump, Operand, Program, Value, edges_of
from toolchain.ir.builder import normalised
from toolchain.ir.graph import Cfg
from toolchain.passes.rewrite import each_function, map_edges, substitute, used_values


def merge_blocks(program: Program) -> Program:
    return each_function(program, lambda function: _merge_chains(normalised(_skip_forwarders(function))))


def _skip_forwarders(function: Function) -> Function:
    uses = Counter(v for b in function.blocks for v in used_values(b))
    forwarders = {b.id: b for b in function.blocks[1:] if _is_forwarder(b, uses)}

    def bend(edge: Edge) -> Edge:
        while edge.target in forwarders:
            edge = _through(forwarders[edge.target], edge)
        return edge

    blocks = tuple(replace(b, terminator=map_edges(b.terminator, bend)) for b in function.blocks)
    return replace(function, blocks=blocks)


def _is_forwarder(block: Block, uses: Counter[Value]) -> bool:
    """Whether the block only passes its own parameters on. A loop head stays: bending past it could merge two loops."""
    if block.operations or block.is_loop_head or not isinstance(block.terminator, Jump):
        return False
    own_uses = Counter(used_values(block))
    return all(uses[p] == own_uses[p] for p in block.parameters)


def _through(forwarder: Block, edge: Edge) -> Edge:
    assert isinstance(forwarder.terminator, Jump)
    passed: dict[Operand, Operand] = dict(zip(forwarder.parameters, edge.arguments, strict=True))
    onward = forwarder.terminator.edge
    return Edge(onward.target, tuple(passed.get(a, a) if isinstance(a, Value) else a for a in onward.arguments))


def _merge_chains(function: Function) -> Function:
    cfg = Cfg(function)
    merged: list[Block] = []
    substitution: dict[Value, Operand] = {}
    absorbed: set[int] = set()
    for block in function.blocks:
        if block.id in absorbed:
            continue
        chain = [block]
        while (following := _only_successor(chain[-1], cfg)) is not None:
            [edge] = edges_of(chain[-1].terminator)
            substitution.update(zip(following.parameters, edge.arguments, strict=True))
            absorbed.add(following.id)
            chain.append(following)
        operations = tuple(op for b in chain for op in b.operations)
        merged.append(replace(block, operations=operations, terminator=chain[-1].terminator))
    return substitute(replace(function, blocks=tuple(merged)), substitution)


def _only_successor(block: Block, cfg: Cfg) -> Block | None:
    """The block that is entered from ``block`` alone and that alone follows it."""
    if not isinstance(block.terminator, Jump):
        return None
    target = block.terminator.edge.target
    return cfg.blocks[target] if len(cfg.incoming[target]) == 1 and target != cfg.entry else None
