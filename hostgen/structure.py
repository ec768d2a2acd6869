"""From a reducible control-flow graph to structured control flow, shared by all hosts.

The dominator tree gives the nesting: a block with one way in stands where it is entered, a block with several follows
the code that it is immediately dominated by (Ramsey, "Beyond Relooper", ICFP 2022). Two things are our own: what a loop
leads to stands behind the loop rather than in it, and long chains of diamonds or early exits stay flat.

A region is a sequence of statements. Running off its end means what the surrounding statement says: behind the ``If``,
back to the head at the end of a loop body, behind a labelled group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from toolchain.ir import Block, Branch, Call, Edge, Function, Jump, Operand, Raise, Return, Value, edges_of
from toolchain.ir.graph import Cfg

Region: TypeAlias = "tuple[Statement, ...]"


@dataclass(frozen=True, slots=True)
class Basic:
    """The operations of a block, without its terminator."""

    block: Block


@dataclass(frozen=True, slots=True)
class Assign:
    """``parameters := arguments``, all at once; what a jump does to the parameters of its target."""

    parameters: tuple[Value, ...]
    arguments: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class If:
    """The decision at the end of ``block``; sides may be empty."""

    block: Block
    branch: Branch
    then: Region
    orelse: Region


@dataclass(frozen=True, slots=True)
class Loop:
    """Repeats ``body`` until something leaves it. label: the head's block id."""

    label: int
    head: Block
    body: Region


@dataclass(frozen=True, slots=True)
class Group:
    """Runs ``body`` once; ``Leave`` with its label (the id of the block that follows) goes behind it."""

    label: int
    body: Region


@dataclass(frozen=True, slots=True)
class Leave:
    """Goes behind the enclosing loop or group.

    label:  id of the block that follows there (of the outer head, when leaving an inner loop continues an outer one).
    levels: how many loops and groups are left by that, from the inside; 1 is a plain ``break``.
    """

    label: int
    levels: int = 0


@dataclass(frozen=True, slots=True)
class Continue:
    """Goes back to the head of the enclosing loop ``label``, leaving ``levels`` loops and groups inside of that one."""

    label: int
    levels: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """Ends the call."""

    block: Block
    terminator: Return | Raise


Statement: TypeAlias = Basic | Assign | If | Loop | Group | Leave | Continue | End


def structure(function: Function) -> Region:
    """The body of ``function`` as structured statements. The graph must be reducible."""
    raw = tuple(_Structurer(Cfg(function)).tree(function.blocks[0].id, None))
    needed: set[int] = set()
    _collect_needed(raw, _NOTHING, (), needed)
    return tuple(_resolved(raw, _NOTHING, (), needed))


def falls_through(region: Region) -> bool:
    """Whether control can run off the end of ``region``."""
    match region[-1] if region else None:
        case Leave() | Continue() | End():
            return False
        case If(then=then, orelse=orelse):
            return falls_through(then) or falls_through(orelse)
        case Loop(body=body):
            return any(_leaves(body, 1))
        case Group(body=body):
            return falls_through(body) or any(_leaves(body, 1))
        case _:
            return True


def _leaves(region: Region, depth: int) -> Iterator[bool]:
    """True for every leave in ``region`` that goes exactly ``depth`` loops and groups up."""
    for statement in region:
        match statement:
            case Leave(levels=levels) if levels == depth:
                yield True
            case If(then=then, orelse=orelse):
                yield from _leaves((*then, *orelse), depth)
            case Loop(body=body) | Group(body=body):
                yield from _leaves(body, depth + 1)


# What running off the end of a region means; None: nothing, control never gets there.
_Fall: TypeAlias = "Leave | Continue | None"
# Appends the code of a block to a list of statements; returns the block whose tree is to follow, if any.
_Code: TypeAlias = "Callable[[int, _Fall, list[Statement]], int | None]"


_MAX_DEPTH = 8


class _Structurer:
    """Makes statements whose leaves name their target only; ``_resolved`` finds out how far that is."""

    def __init__(self, cfg: Cfg) -> None:
        self._cfg = cfg
        self._depth = 0

    @cached_property
    def _followers(self) -> dict[int, list[int]]:
        """Block -> the blocks that stand behind its code (behind the loop, for a head), in reverse postorder."""
        found: dict[int, list[int]] = {block: [] for block in self._cfg.order}
        main_exits = set(map(self._main_exit, self._cfg.loops))
        for block in self._cfg.order[1:]:
            if block in main_exits or self._ways_in(block) > 1:
                found[self._anchor(block)].append(block)
        return found

    @cached_property
    def _is_follower(self) -> frozenset[int]:
        return frozenset(f for followers in self._followers.values() for f in followers)

    def _ways_in(self, block: int) -> int:
        return sum(not self._cfg.dominates(block, source) for source, _ in self._cfg.incoming[block])

    def _anchor(self, block: int) -> int:
        """What ``block`` stands behind: its immediate dominator, or the outermost loop that holds this but not it."""
        dominator = self._cfg.idom[block]
        left = [head for head, loop in self._cfg.loops.items() if dominator in loop and block not in loop]
        return min(left, key=lambda head: self._cfg.position[head], default=dominator)

    def _main_exit(self, head: int) -> int | None:
        """The block that continues after the loop, if that is entered by one edge; other exits stay in the loop."""
        loop = self._cfg.loops[head]
        edges = (e for b in self._cfg.order if b in loop for e in edges_of(self._cfg.blocks[b].terminator))
        exits = [e.target for e in edges if e.target not in loop and self._cfg.dominates(head, e.target)]
        if any(self._ways_in(block) > 1 for block in exits):
            return None  # a block with several ways in stands behind the loop already
        return max(exits, key=self._cfg.dominated_count, default=None)

    def tree(self, block: int, fall: _Fall) -> list[Statement]:
        """The code of ``block`` and of everything it dominates."""
        statements: list[Statement] = []
        following: int | None = block
        # A loop instead of recursion: chains of diamonds and early exits may be long.
        while following is not None:
            loop = self._cfg.loops.get(following, frozenset())
            behind = [f for f in self._followers[following] if f not in loop]
            following = self._sequence(following, behind, fall, self._whole, statements)
        return statements

    def _sequence(
        self, block: int, followers: list[int], fall: _Fall, code: _Code, statements: list[Statement]
    ) -> int | None:
        """Appends the code of ``block`` in one group per follower, with the followers' trees but the last between."""
        if not followers:
            return code(block, fall, statements)
        region = self._complete(block, Leave(followers[0]), code)
        for here, after in pairwise(followers):
            region = [Group(here, tuple(region)), *self.tree(here, Leave(after))]
        statements.append(Group(followers[-1], tuple(region)))
        return followers[-1]

    def _complete(self, block: int, fall: _Fall, code: _Code) -> list[Statement]:
        statements: list[Statement] = []
        following = code(block, fall, statements)
        return statements if following is None else statements + self.tree(following, fall)

    def _whole(self, block: int, fall: _Fall, statements: list[Statement]) -> int | None:
        """The code of a block; for a head, of its loop."""
        loop = self._cfg.loops.get(block)
        if loop is None:
            return self._plain(block, fall, statements)
        inside = [f for f in self._followers[block] if f in loop]

        def body(head: int, fall: _Fall, into: list[Statement]) -> int | None:
            return self._sequence(head, inside, fall, self._plain, into)

        region = self._complete(block, Continue(block), body)
        statements.append(Loop(block, self._cfg.blocks[block], tuple(region)))
        return None

    def _plain(self, block: int, fall: _Fall, statements: list[Statement]) -> int | None:
        this = self._cfg.blocks[block]
        statements.append(Basic(this))
        match this.terminator:
            case Jump(edge=edge):
                return self._go(block, edge, fall, statements)
            case Branch() as branch:
                return self._decide(this, branch, fall, statements)
            case Return() | Raise() as ending:
                statements.append(End(this, ending))
                return None

    def _decide(self, block: Block, branch: Branch, fall: _Fall, statements: list[Statement]) -> int | None:
        """If the smaller side never falls through, the larger one follows it on the same level of nesting."""
        then_first = self._size(block.id, branch.then) <= self._size(block.id, branch.orelse)
        first, second = (branch.then, branch.orelse) if then_first else (branch.orelse, branch.then)
        # Too deep, a side leaves explicitly even where it could fall through, so that the other need not be nested.
        region = self._side(block.id, first, fall if self._depth < _MAX_DEPTH else None)
        if _exits(region):
            statements.append(If(block, branch, region if then_first else (), () if then_first else region))
            return self._go(block.id, second, fall, statements)
        is_alternative = not any(isinstance(op, Call) for op in self._cfg.blocks[second.target].operations)
        self._depth += not is_alternative  # mere alternatives are written as elif, which does not nest
        other = self._side(block.id, second, fall)
        self._depth -= not is_alternative
        statements.append(If(block, branch, *((region, other) if then_first else (other, region))))
        return None

    def _side(self, source: int, edge: Edge, fall: _Fall) -> Region:
        statements: list[Statement] = []
        following = self._go(source, edge, fall, statements)
        return tuple(statements if following is None else statements + self.tree(following, fall))

    def _size(self, source: int, edge: Edge) -> int:
        return self._cfg.dominated_count(edge.target) if self._is_inline(source, edge.target) else 0

    def _is_inline(self, source: int, target: int) -> bool:
        """Whether the target's tree stands where this edge is taken."""
        return target not in self._is_follower and not self._cfg.dominates(target, source)

    def _go(self, source: int, edge: Edge, fall: _Fall, statements: list[Statement]) -> int | None:
        """Takes an edge: sets parameters, then leaves or continues, or returns the block that stands here."""
        parameters = self._cfg.blocks[edge.target].parameters
        if parameters:
            statements.append(Assign(parameters, edge.arguments))
        if self._is_inline(source, edge.target):
            return edge.target
        is_back_edge = self._cfg.dominates(edge.target, source)
        transfer = Continue(edge.target) if is_back_edge else Leave(edge.target)
        if transfer != fall:
            statements.append(transfer)
        return None


def _exits(region: Region) -> bool:
    """Whether control surely does not run off the end; loops count as if it did, since leaving them may mean that."""
    match region[-1] if region else None:
        case Leave() | Continue() | End():
            return True
        case If(then=then, orelse=orelse):
            return _exits(then) and _exits(orelse)
        case _:
            return False


# What running off the end of a statement is equal to; the targets' levels are 0.
_Tail: TypeAlias = "frozenset[Leave | Continue]"
_NOTHING: _Tail = frozenset()


def _with_tails(region: Region, tail: _Tail) -> Iterator[tuple[Statement, _Tail]]:
    for index, statement in enumerate(region):
        yield statement, tail if index == len(region) - 1 else _NOTHING


def _collect_needed(region: Region, tail: _Tail, loops: tuple[_Tail, ...], needed: set[int]) -> None:
    """Finds the groups that something leaves other than by leaving a loop at the group's end."""
    for statement, after in _with_tails(region, tail):
        match statement:
            case Leave(label=label) if not any(statement in lands for lands in loops):
                needed.add(label)
            case If(then=then, orelse=orelse):
                _collect_needed(then, after, loops, needed)
                _collect_needed(orelse, after, loops, needed)
            case Group(label=label, body=body):
                _collect_needed(body, after | {Leave(label)}, loops, needed)
            case Loop(label=label, body=body):
                _collect_needed(body, frozenset({Continue(label)}), (*loops, after), needed)


@dataclass(frozen=True, slots=True)
class _Enclosing:
    """A loop or group around a statement. lands: what leaving it is equal to; head: the loop's label."""

    lands: _Tail
    head: int | None = None


def _resolved(region: Region, tail: _Tail, around: tuple[_Enclosing, ...], needed: set[int]) -> Iterator[Statement]:
    """``region`` without needless groups, and with the levels of leaves and continues; ``around`` from the inside."""
    for statement, after in _with_tails(region, tail):
        match statement:
            case Leave() | Continue():
                yield _nearest(statement, around)
            case If(then=then, orelse=orelse):
                sides = [tuple(_resolved(side, after, around, needed)) for side in (then, orelse)]
                yield If(statement.block, statement.branch, *sides)
            case Loop(label=label, body=body):
                inside = (_Enclosing(after, label), *around)
                yield replace(statement, body=tuple(_resolved(body, frozenset({Continue(label)}), inside, needed)))
            case Group(label=label, body=body) if label in needed:
                lands = after | {Leave(label)}
                yield Group(label, tuple(_resolved(body, lands, (_Enclosing(lands), *around), needed)))
            case Group(label=label, body=body):
                yield from _resolved(body, after | {Leave(label)}, around, needed)
            case _:
                yield statement


def _nearest(transfer: Leave | Continue, around: tuple[_Enclosing, ...]) -> Leave | Continue:
    """``transfer`` as the way out of the fewest loops and groups; leaving an inner loop may be to continue an outer."""
    for level, enclosing in enumerate(around):
        if transfer in enclosing.lands:
            return Leave(transfer.label, level + 1)
        if isinstance(transfer, Continue) and enclosing.head == transfer.label:
            return Continue(transfer.label, level)
    raise AssertionError(f"no enclosing statement leads to block {transfer.label}")
