"""Computes a predicate in the call that makes its operands, not in a call of its own. Not in place.

After dead values went, so that only what is needed moves; before the partition, which then puts the predicate into the
producing subgraph. Only tensor operations move, never ``item``: a float32 comparison stays one.

A block qualifies if its first call would consist of nothing but small operations that the host reads. They move to the
block that makes their operands or, where they read the block's own parameters (a loop's test), to the ends of its
predecessors. A move never adds a call to any path: it joins a call that is there, or replaces the one it came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from toolchain.ir import (
    Block,
    Edge,
    Function,
    HostOp,
    Jump,
    Operand,
    Program,
    TensorOp,
    Value,
    operands_of,
    values_in,
)
from toolchain.ir.effects import is_deterministic
from toolchain.ir.graph import Cfg
from toolchain.passes.levels import levels
from toolchain.passes.rewrite import each_function, fresh_ids, map_edges, substitute_operation, used_values

# Cheap enough to compute even if the path turns out not to need it.
_CHEAP = frozenset(
    (
        *("lt", "le", "gt", "ge", "eq", "ne", "any", "all", "isnan", "isinf", "isfinite", "is_nonzero"),
        *("logical_and", "logical_or", "logical_not", "logical_xor"),
        *("bitwise_and", "bitwise_or", "bitwise_not", "bitwise_xor"),
        *("view", "reshape", "squeeze", "unsqueeze", "select", "slice", "flatten", "permute", "transpose", "expand"),
        *("_to_copy", "to"),
    )
)
# Moved only where the path computes them anyway.
_SMALL = _CHEAP | frozenset(
    (
        *("sum", "mean", "max", "min", "amax", "amin", "argmax", "argmin", "count_nonzero"),
        *("norm", "linalg_vector_norm"),
        *("add", "sub", "rsub", "mul", "div", "neg", "abs", "sqrt", "pow", "exp", "log", "sigmoid", "tanh", "clamp"),
        *("softmax", "_softmax", "log_softmax", "_log_softmax", "maximum", "minimum", "remainder", "where", "gather"),
    )
)


def colocate_predicates(program: Program) -> Program:
    return each_function(program, _colocate)


def _colocate(function: Function) -> Function:
    for block in [b.id for b in function.blocks]:
        function = _Mover(function, block).moved()
    return function


class _Mover:
    """One attempt to move the predicate of one block."""

    def __init__(self, function: Function, block: int) -> None:
        self._function = function
        self._cfg = Cfg(function)
        self._block = self._cfg.blocks[block]
        self._chain = tuple(
            op
            for op, level in zip(self._block.operations, levels(self._block), strict=True)
            if isinstance(op, TensorOp) and level == 0
        )

    def moved(self) -> Function:
        """The function after the move, or unchanged if there is none to make."""
        if not self._qualifies():
            return self._function
        if self._inputs() & set(self._block.parameters):
            return self._into_predecessors() if self._block.id != self._cfg.entry else self._function
        return self._into_dominator()

    def _qualifies(self) -> bool:
        if not self._chain or not all(_base(op) in _SMALL and is_deterministic(op) for op in self._chain):
            return False
        results = {r for op in self._chain for r in op.results}
        own = {r for op in self._block.operations for r in op.results}
        is_read = any(isinstance(op, HostOp) and results & set(values_in(op.operands)) for op in self._block.operations)
        return is_read and not self._inputs() & own

    def _inputs(self) -> set[Value]:
        made = {r for op in self._chain for r in op.results}
        return {v for op in self._chain for v in values_in(tuple(operands_of(op)))} - made

    def _is_cheap(self) -> bool:
        return all(_base(op) in _CHEAP for op in self._chain)

    def _into_dominator(self) -> Function:
        home = self._deepest_definition()
        if (
            home is None
            or not self._is_cheap()
            or not self._stays_in_loops(home.id)
            or not _has_call(home, self._chain)
        ):
            return self._function
        extended = replace(home, operations=(*home.operations, *self._chain))
        return _with_blocks(self._function, {home.id: extended, self._block.id: self._remainder()})

    def _deepest_definition(self) -> Block | None:
        inputs = self._inputs()
        homes = [b for b in self._cfg.blocks.values() if inputs & set(_definitions(b))]
        return max(homes, key=lambda b: self._cfg.position[b.id], default=None)

    def _stays_in_loops(self, target: int) -> bool:
        """Whether no loop around ``target`` would repeat what the block did only once."""
        return all(self._block.id in loop for loop in self._cfg.loops.values() if target in loop)

    def _into_predecessors(self) -> Function:
        sources = dict.fromkeys(source for source, _ in self._cfg.incoming[self._block.id])
        if not self._pays(sources):
            return self._function
        outside = self._needed_results()
        changed = {self._block.id: replace(self._remainder(), parameters=(*self._block.parameters, *outside))}
        numbers = fresh_ids(self._function)
        for source in sources:
            before = changed.get(source, self._cfg.blocks[source])
            changed[source] = self._with_clones(before, outside, numbers)
        return _with_blocks(self._function, changed)

    def _pays(self, sources: dict[int, None]) -> bool:
        """Some predecessor computes the predicate for free, and no path does more than before."""
        free = [s for s in sources if self._is_free(s)]
        certain = [s for s in sources if isinstance(self._cfg.blocks[s].terminator, Jump)]
        speculative = [s for s in sources if s not in certain]
        fine = all(s in free and self._is_cheap() and self._stays_in_loops(s) for s in speculative)
        return bool(free) and fine

    def _is_free(self, source: int) -> bool:
        """Whether the clones for every edge from ``source`` would join calls that it has anyway."""
        block = self._cfg.blocks[source]
        if source == self._block.id:
            block = self._remainder()
        edges = [e for s, e in self._cfg.incoming[self._block.id] if s == source]
        return all(_has_call(block, self._clones(e, count(-1, -1))[0]) for e in edges)

    def _with_clones(self, source: Block, outside: tuple[Value, ...], numbers: Iterator[int]) -> Block:
        clones: list[TensorOp] = []

        def extend(edge: Edge) -> Edge:
            if edge.target != self._block.id:
                return edge
            operations, renamed = self._clones(edge, numbers)
            clones.extend(operations)
            return replace(edge, arguments=(*edge.arguments, *(renamed[v] for v in outside)))

        terminator = map_edges(source.terminator, extend)
        return replace(source, operations=(*source.operations, *clones), terminator=terminator)

    def _clones(self, edge: Edge, numbers: Iterator[int]) -> tuple[tuple[TensorOp, ...], dict[Value, Operand]]:
        """The predicate's operations on what ``edge`` passes, and what became of each value."""
        renamed: dict[Value, Operand] = dict(zip(self._block.parameters, edge.arguments, strict=True))
        clones: list[TensorOp] = []
        for op in self._chain:
            results = tuple(Value(next(numbers), r.type, r.name) for r in op.results)
            renamed_op = substitute_operation(op, renamed)
            assert isinstance(renamed_op, TensorOp)
            clones.append(replace(renamed_op, results=results))
            renamed.update(zip(op.results, results, strict=True))
        return tuple(clones), renamed

    def _needed_results(self) -> tuple[Value, ...]:
        """Results that something other than the moved operations reads; they become the block's parameters."""
        blocks = [self._remainder() if b.id == self._block.id else b for b in self._function.blocks]
        used = {v for b in blocks for v in used_values(b)}
        return tuple(r for op in self._chain for r in op.results if r in used)

    def _remainder(self) -> Block:
        members = set(map(id, self._chain))
        return replace(self._block, operations=tuple(op for op in self._block.operations if id(op) not in members))


def _base(op: TensorOp) -> str:
    return op.target.split(".")[1]


def _definitions(block: Block) -> Iterator[Value]:
    yield from block.parameters
    for op in block.operations:
        yield from op.results


def _has_call(block: Block, extra: tuple[TensorOp, ...]) -> bool:
    """Whether ``extra``, put at the end of ``block``, joins calls that the block has anyway."""
    before = {n for op, n in zip(block.operations, levels(block), strict=True) if isinstance(op, TensorOp)}
    extended = levels(replace(block, operations=(*block.operations, *extra)))
    return set(extended[len(block.operations) :]) <= before


def _with_blocks(function: Function, changed: dict[int, Block]) -> Function:
    return replace(function, blocks=tuple(changed.get(b.id, b) for b in function.blocks))
