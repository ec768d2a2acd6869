"""Which values share a variable of the host program, so that most edges need no assignment.

A block parameter and what the edges pass for it get one variable unless both are needed at once: SSA liveness, an
interference graph, and a union of parameters with their arguments in reverse postorder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from hostgen.inlining import Inlining
from toolchain.ir import Block, Function, ScalarType, TensorType, Type, Value, edges_of, operands_of, values_in
from toolchain.ir.graph import Cfg


def share_variables(
    function: Function, inlining: Inlining, host_type: Callable[[Type], str] | None = None
) -> Mapping[Value, Value]:
    """Every value with the one that stands for its variable; inlined values are left out.

    Values of one variable have the same host type; by default: tensor, list, or one kind of scalar.
    """
    values = [v for b in function.blocks for v in _defined(b, inlining)]
    classes = _Classes(values, _interference(function, inlining), host_type or _dynamic_type)
    cfg = Cfg(function)
    for block in cfg.order:
        for _, edge in cfg.incoming[block]:
            for parameter, argument in zip(cfg.blocks[block].parameters, edge.arguments, strict=True):
                if isinstance(argument, Value) and argument not in inlining.made_by:
                    classes.join(argument, parameter)
    return {value: classes.root(value) for value in values}


def _defined(block: Block, inlining: Inlining) -> Iterator[Value]:
    yield from block.parameters
    for op in block.operations:
        if not inlining.is_inlined(op):
            yield from op.results


def _dynamic_type(kind: Type) -> str:
    if isinstance(kind, ScalarType):
        return kind.kind
    return "tensor" if isinstance(kind, TensorType) else "list"


class _Classes:
    """Disjoint sets of values that may share a variable."""

    def __init__(
        self, values: list[Value], interference: Mapping[Value, set[Value]], host_type: Callable[[Type], str]
    ) -> None:
        self._host_type = {v: host_type(v.type) for v in values}
        self._parent = {v: v for v in values}
        self._members = {v: {v} for v in values}
        self._conflicts = {v: set(interference.get(v, ())) for v in values}

    def root(self, value: Value) -> Value:
        while self._parent[value] != value:
            value = self._parent[value]
        return value

    def join(self, a: Value, b: Value) -> None:
        a, b = self.root(a), self.root(b)
        if a == b or self._host_type[a] != self._host_type[b] or self._conflicts[a] & self._members[b]:
            return
        self._parent[b] = a
        self._members[a] |= self._members.pop(b)
        self._conflicts[a] |= self._conflicts.pop(b)


def _interference(function: Function, inlining: Inlining) -> Mapping[Value, set[Value]]:
    """Pairs of values of which one is still needed when the other is set."""
    live_in, live_out = _liveness(function, inlining)
    found: defaultdict[Value, set[Value]] = defaultdict(set)

    def define(defined: tuple[Value, ...], live: set[Value]) -> None:
        # Even a value that nobody reads overwrites its variable.
        for value in defined:
            others = (live | set(defined)) - {value}
            found[value] |= others
            for other in others:
                found[other].add(value)

    for block in function.blocks:
        live = set(live_out[block.id])
        live.update(inlining.reads(block.terminator))
        for op in reversed(block.operations):
            if not inlining.is_inlined(op):
                define(op.results, live)
                live.difference_update(op.results)
                live.update(inlining.reads(op))
        define(block.parameters, live_in[block.id] | set(block.parameters))
    return found


def _liveness(function: Function, inlining: Inlining) -> tuple[Mapping[int, set[Value]], Mapping[int, set[Value]]]:
    """Values needed at the start of each block (but its parameters) and after its operations (but edge arguments)."""
    live_in: dict[int, set[Value]] = {b.id: set() for b in function.blocks}
    live_out: dict[int, set[Value]] = {b.id: set() for b in function.blocks}
    effects = {b.id: _reads_and_definitions(b, inlining) for b in function.blocks}
    changed = True
    while changed:
        changed = False
        for block in reversed(function.blocks):
            targets = [edge.target for edge in edges_of(block.terminator)]
            live_out[block.id] = set().union(*(live_in[t] for t in targets))
            reads, defined = effects[block.id]
            before = reads | (live_out[block.id] - defined)
            changed |= before != live_in[block.id]
            live_in[block.id] = before
    return live_in, live_out


def _reads_and_definitions(block: Block, inlining: Inlining) -> tuple[set[Value], set[Value]]:
    """What the block reads from before it, and what it sets."""
    defined = set(_defined(block, inlining))
    reads = {v for op in block.operations if not inlining.is_inlined(op) for v in inlining.reads(op)}
    reads |= set(inlining.expanded(values_in(tuple(operands_of(block.terminator)))))
    return reads - defined, defined
