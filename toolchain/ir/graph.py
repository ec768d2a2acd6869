"""The shape of a function's control-flow graph: order, predecessors, dominators, loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import networkx as nx

from toolchain.ir.ops import Edge, edges_of
from toolchain.ir.program import Block, Function


def reverse_postorder(blocks: Sequence[Block]) -> tuple[int, ...]:
    """Ids of the blocks reachable from ``blocks[0]``; a ``then`` side comes before its ``else`` side."""
    by_id = {b.id: b for b in blocks}
    postorder: list[int] = []
    seen = {blocks[0].id}
    stack = [(blocks[0].id, _targets_reversed(blocks[0]))]
    while stack:
        block, targets = stack[-1]
        if not targets:
            postorder.append(block)
            stack.pop()
            continue
        target = targets.pop(0)
        if target not in seen:
            seen.add(target)
            stack.append((target, _targets_reversed(by_id[target])))
    return tuple(reversed(postorder))


def _targets_reversed(block: Block) -> list[int]:
    return [e.target for e in reversed(edges_of(block.terminator))]


@dataclass(frozen=True)
class Cfg:
    """Facts about one function, each computed when first asked for. Only reachable blocks are known."""

    function: Function

    @cached_property
    def order(self) -> tuple[int, ...]:
        return reverse_postorder(self.function.blocks)

    @cached_property
    def position(self) -> Mapping[int, int]:
        """Block id -> place in ``order``."""
        return {block: i for i, block in enumerate(self.order)}

    @cached_property
    def blocks(self) -> Mapping[int, Block]:
        by_id = {b.id: b for b in self.function.blocks}
        return {block: by_id[block] for block in self.order}

    @property
    def entry(self) -> int:
        return self.function.blocks[0].id

    @cached_property
    def incoming(self) -> Mapping[int, tuple[tuple[int, Edge], ...]]:
        """Block id -> (source block, edge) of every way in; a branch with two equal targets counts twice."""
        found: dict[int, list[tuple[int, Edge]]] = {block: [] for block in self.order}
        for block in self.order:
            for edge in edges_of(self.blocks[block].terminator):
                found[edge.target].append((block, edge))
        return {block: tuple(ways) for block, ways in found.items()}

    @cached_property
    def idom(self) -> Mapping[int, int]:
        """Immediate dominator of every block but the entry."""
        graph = nx.DiGraph()
        graph.add_nodes_from(self.order)
        graph.add_edges_from((s, target) for target in self.order for s, _ in self.incoming[target])
        dominators: dict[int, int] = nx.immediate_dominators(graph, self.entry)
        return {block: d for block, d in dominators.items() if block != self.entry}

    @cached_property
    def dominated(self) -> Mapping[int, tuple[int, ...]]:
        """Children in the dominator tree, in reverse postorder."""
        children: dict[int, list[int]] = {block: [] for block in self.order}
        for block in self.order[1:]:
            children[self.idom[block]].append(block)
        return {block: tuple(c) for block, c in children.items()}

    @cached_property
    def _interval(self) -> Mapping[int, tuple[int, int]]:
        """Preorder number of every block in the dominator tree, and the end of its subtree."""
        first: dict[int, int] = {}
        preorder: list[int] = []
        stack = [self.entry]
        while stack:
            block = stack.pop()
            first[block] = len(preorder)
            preorder.append(block)
            stack.extend(reversed(self.dominated[block]))
        size = dict.fromkeys(preorder, 1)
        for block in reversed(preorder[1:]):
            size[self.idom[block]] += size[block]
        return {block: (first[block], first[block] + size[block]) for block in preorder}

    def dominates(self, a: int, b: int) -> bool:
        """Whether every way to ``b`` leads through ``a`` (a block dominates itself)."""
        start, end = self._interval[a]
        return start <= self._interval[b][0] < end

    def dominated_count(self, block: int) -> int:
        """How many blocks ``block`` dominates, itself included."""
        start, end = self._interval[block]
        return end - start

    @cached_property
    def loops(self) -> Mapping[int, frozenset[int]]:
        """Loop head -> the blocks of its natural loop, the head included."""
        found: dict[int, set[int]] = {}
        for head in self.order:
            for source, _ in self.incoming[head]:
                if self.dominates(head, source):
                    self._add_natural_loop(found.setdefault(head, {head}), source)
        return {head: frozenset(members) for head, members in found.items()}

    def _add_natural_loop(self, members: set[int], latch: int) -> None:
        stack = [latch]
        while stack:
            block = stack.pop()
            if block not in members:
                members.add(block)
                stack.extend(s for s, _ in self.incoming[block])

    @cached_property
    def irreducible_edges(self) -> tuple[tuple[int, int], ...]:
        """Edges that lead backwards in ``order`` to a block that does not dominate their source."""
        return tuple(
            (source, target)
            for target in self.order
            for source, _ in self.incoming[target]
            if self.position[source] >= self.position[target] and not self.dominates(target, source)
        )
