"""The blocks of the graph while it is explored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from toolchain.frontend.heap import Snapshot
from toolchain.frontend.merge import Conflicts, Merged, Parameter
from toolchain.frontend.numbers import StagedBool
from toolchain.frontend.recorder import Ghost
from toolchain.ir import UNKNOWN_LOCATION, Location, Operand, Operation, Structure

NOWHERE = UNKNOWN_LOCATION


@dataclass(eq=False, slots=True)
class Arrival:
    """A way to a node: from block ``source`` (None: the start), over its exit ``slot``.

    lists: the host lists that this arrival makes of plain ones, by type and elements.
    """

    source: Node | None
    slot: int
    snapshot: Snapshot
    lists: dict[tuple[str, ...], Operand] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call hands back: the result or the arguments of the exception, and the arguments changed in place."""

    result: Structure | None
    arguments: tuple[Operand, ...]
    mutated: tuple[tuple[int, Operand], ...]


@dataclass(eq=False, slots=True)
class Exit:
    """How a block ends: "jump", "branch", "return", "raise" or "problem"."""

    kind: str
    targets: list[Node] = field(default_factory=list)
    condition: StagedBool | None = None
    result: Any = None
    exception: BaseException | None = None
    outcome: Outcome | None = None
    location: Location = NOWHERE


@dataclass(eq=False, slots=True)
class Node:
    """A block of the graph.

    key:     what arrivals must agree on besides the state; None for nodes with exactly one arrival.
    answer:  for the side of a decision: what the conditional jump does.
    setup:   for the start of a function: pushes its frame. expand: for a state between calls: adds the functions.
    ghosts:  for a decision inside native code: blocks to run again first; ``base`` is where the first of them starts.
    cache:   the block arguments made so far, so that merging again gives the same ones.
    conflicts: what arrivals so far said must not be changed in place behind it.
    """

    key: Any
    priority: tuple[Any, ...]
    function: Any
    arrivals: list[Arrival] = field(default_factory=list)
    answer: bool | None = None
    ghosts: tuple[Ghost, ...] = ()
    base: Snapshot | None = None
    is_head: bool = False
    alive: bool = True
    done: bool = False
    merged: Merged | None = None
    entry: Snapshot | None = None
    operations: list[Operation] = field(default_factory=list)
    exit: Exit | None = None
    location: Location = NOWHERE
    head_pc: int = -1
    cache: dict[Any, Any] = field(default_factory=dict)
    conflicts: Conflicts = field(default_factory=dict)
    setup: Callable[[Node], None] | None = None
    expand: Callable[[Node], None] | None = None

    @property
    def parameters(self) -> list[Parameter]:
        return self.merged.parameters if self.merged is not None else []


def drop_arrivals(target: Node, source: Node) -> None:
    """Removes the ways from ``source``; the state of ``target`` stays as wide as it was."""
    kept = [n for n, a in enumerate(target.arrivals) if a.source is not source]
    target.arrivals = [target.arrivals[n] for n in kept]
    for parameter in target.parameters:
        parameter.operands = tuple(parameter.operands[n] for n in kept)
