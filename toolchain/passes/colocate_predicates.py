"""Computes a predicate in the call that makes its operands, not in a call of its own. Not in place.

After dead values went, so that only what is needed moves; before the partition, which then puts the predicate into the
producing subgraph. Only tensor operations move, never ``item``: a float32 comparison stays one.

A block qualifies if its first call would consist of nothing but small operations that the host reads. They move to the
block that makes their operands or, where they read the block's own parameters (a loop's test), to the ends of its
predecessors. A move never adds a call to any path: it joins a call that is there, or replaces the one it came from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
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
    edges_of,
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
    mover = _Mover(function)
    for block in mover.cfg.order:
        mover.try_to_move(block)
    return replace(function, blocks=tuple(mover.blocks[b.id] for b in function.blocks))


@dataclass(frozen=True, slots=True)
class _Predicate:
    """What would move: the operations of a block's first call, if they are all small and the host reads a result.

    inputs: values from elsewhere that they read. outside: results that something else reads. remainder: the block
    without them.
    """

    chain: tuple[TensorOp, ...]
    inputs: frozenset[Value]
    outside: tuple[Value, ...]
    remainder: Block

    @property
    def is_cheap(self) -> bool:
        return all(_base(op) in _CHEAP for op in self.chain)


class _Mover:
    """The function while predicates move. Only operations, parameters and edge arguments change, never the graph."""

    def __init__(self, function: Function) -> None:
        self.cfg = Cfg(function)
        self.blocks = dict(self.cfg.blocks)
        self._numbers = fresh_ids(function)
        self._home = {v: b.id for b in function.blocks for v in _definitions(b)}
        self._readers: defaultdict[Value, set[int]] = defaultdict(set)
        for block in function.blocks:
            for value in used_values(block):
                self._readers[value].add(block.id)

    def try_to_move(self, block: int) -> None:
        predicate = self._predicate(self.blocks[block])
        if predicate is None:
            return
        if predicate.inputs.isdisjoint(self.blocks[block].parameters):
            self._into_dominator(block, predicate)
        elif block != self.cfg.entry:
            self._into_predecessors(block, predicate)

    def _predicate(self, block: Block) -> _Predicate | None:
        leveled = list(zip(block.operations, levels(block), strict=True))
        chain = tuple(op for op, level in leveled if isinstance(op, TensorOp) and level == 0)
        if not chain or not all(_base(op) in _SMALL and is_deterministic(op) for op in chain):
            return None
        results = [r for op in chain for r in op.results]
        members = set(map(id, chain))
        remainder = replace(block, operations=tuple(op for op in block.operations if id(op) not in members))
        inputs = frozenset(v for op in chain for v in values_in(tuple(operands_of(op)))) - set(results)
        is_read = any(isinstance(op, HostOp) and set(results) & set(values_in(op.operands)) for op in block.operations)
        if not is_read or any(self._home[v] == block.id and v not in block.parameters for v in inputs):
            return None
        read_here = set(used_values(remainder))
        outside = tuple(r for r in results if r in read_here or self._readers[r] - {block.id})
        return _Predicate(chain, inputs, outside, remainder)

    def _into_dominator(self, block: int, predicate: _Predicate) -> None:
        homes = {self._home[v] for v in predicate.inputs}
        home = max(homes, key=self.cfg.position.__getitem__, default=None)
        if home is None or not predicate.is_cheap or not self._stays_in_loops(block, home):
            return
        if not _has_call(self.blocks[home], predicate.chain):
            return
        self.blocks[block] = predicate.remainder
        self._append(home, predicate.chain)

    def _append(self, block: int, operations: tuple[TensorOp, ...]) -> None:
        before = self.blocks[block]
        self.blocks[block] = replace(before, operations=(*before.operations, *operations))
        for op in operations:
            self._home.update(dict.fromkeys(op.results, block))
            for value in values_in(tuple(operands_of(op))):
                self._readers[value].add(block)

    def _stays_in_loops(self, block: int, target: int) -> bool:
        """Whether no loop around ``target`` would repeat what ``block`` did only once."""
        return all(block in loop for loop in self.cfg.loops.values() if target in loop)

    def _into_predecessors(self, block: int, predicate: _Predicate) -> None:
        sources = dict.fromkeys(source for source, _ in self.cfg.incoming[block])
        if not self._pays(block, predicate, sources):
            return
        parameters = self.blocks[block].parameters
        self.blocks[block] = replace(predicate.remainder, parameters=(*parameters, *predicate.outside))
        for source in sources:
            self._move_to_end_of(source, block, parameters, predicate)

    def _pays(self, block: int, predicate: _Predicate, sources: Iterable[int]) -> bool:
        """Some predecessor computes the predicate for free, and no path does more than before."""
        free = {s for s in sources if self._is_free(s, block, predicate)}
        speculative = [s for s in sources if not isinstance(self.blocks[s].terminator, Jump)]
        fine = all(s in free and predicate.is_cheap and self._stays_in_loops(block, s) for s in speculative)
        return bool(free) and fine

    def _is_free(self, source: int, block: int, predicate: _Predicate) -> bool:
        """Whether the clones for every edge from ``source`` would join calls that it has anyway."""
        before = predicate.remainder if source == block else self.blocks[source]
        parameters = self.blocks[block].parameters
        edges = [e for e in edges_of(before.terminator) if e.target == block]
        return all(_has_call(before, _clones(predicate, parameters, e, count(-1, -1))[0]) for e in edges)

    def _move_to_end_of(self, source: int, block: int, parameters: tuple[Value, ...], predicate: _Predicate) -> None:
        clones: list[TensorOp] = []

        def extend(edge: Edge) -> Edge:
            if edge.target != block:
                return edge
            operations, renamed = _clones(predicate, parameters, edge, self._numbers)
            clones.extend(operations)
            return replace(edge, arguments=(*edge.arguments, *(renamed[v] for v in predicate.outside)))

        before = self.blocks[source]
        self.blocks[source] = replace(before, terminator=map_edges(before.terminator, extend))
        self._append(source, tuple(clones))


def _clones(
    predicate: _Predicate, parameters: tuple[Value, ...], edge: Edge, numbers: Iterator[int]
) -> tuple[tuple[TensorOp, ...], dict[Value, Operand]]:
    """The predicate's operations on what ``edge`` passes, and what became of each value."""
    renamed: dict[Value, Operand] = dict(zip(parameters, edge.arguments, strict=True))
    clones: list[TensorOp] = []
    for op in predicate.chain:
        results = tuple(Value(next(numbers), r.type, r.name) for r in op.results)
        renamed_op = substitute_operation(op, renamed)
        assert isinstance(renamed_op, TensorOp)
        clones.append(replace(renamed_op, results=results))
        renamed.update(zip(op.results, results, strict=True))
    return tuple(clones), renamed


def _base(op: TensorOp) -> str:
    return op.target.split(".")[1]


def _definitions(block: Block) -> Iterator[Value]:
    yield from block.parameters
    for op in block.operations:
        yield from op.results


def _has_call(block: Block, extra: tuple[TensorOp, ...]) -> bool:
    """Whether ``extra``, put at the end of ``block``, joins calls that the block has anyway."""
    extended = levels(replace(block, operations=(*block.operations, *extra)))
    before = {n for op, n in zip(block.operations, extended, strict=False) if isinstance(op, TensorOp)}
    return set(extended[len(block.operations) :]) <= before
