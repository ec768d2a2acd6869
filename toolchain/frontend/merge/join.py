"""The state of one merge, shared by those who merge the different kinds of values."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import sympy
from torch.utils._sympy.value_ranges import bound_sympy

from toolchain.frontend.heap import Snapshot
from toolchain.frontend.merge.hints import Conflicts, Hints, Path
from toolchain.frontend.merge.wording import name_of
from toolchain.frontend.recorder import Recorder
from toolchain.frontend.signals import Origin
from toolchain.frontend.storages import PathState
from toolchain.ir import Operand, Type, Value


@dataclass(slots=True)
class Parameter:
    """A block argument: its value, and the operand that each arrival passes."""

    value: Value
    operands: tuple[Operand, ...]
    path: Path


@dataclass(slots=True)
class Merged:
    snapshot: Snapshot
    parameters: list[Parameter]
    profile: dict[Path, object]
    partners: dict[Path, object]
    hints: Hints
    conflicts: Conflicts


@dataclass(slots=True)
class Join:
    """What is merged, and what came out so far.

    key:        identifies the join in the origins of its arguments.
    conflicts:  what must not be changed in place behind the join: found by earlier merges, then by this one as well.
    cache:      the values and symbols made by earlier merges at this join, so that merging again gives the same ones.
    isolated:   no value of an arrival is visible at the join (the state between calls), so everything but constants is
                an argument.
    parameters: the block arguments, by what tells them apart: leaves that differ in the same way share one.
    symbols:    of the integers and extents that are arguments, by their expressions on each arrival.
    profile:    the types of the arguments by leaf: the merge is wider than an earlier one if they differ.
    partners:   what each leaf shares its argument or symbol with.
    new_hints:  what later rounds should know.
    state:      what is true on every arrival's path.
    """

    recorder: Recorder
    arrivals: list[Snapshot]
    hints: Hints
    key: object
    cache: dict[Any, Any]
    conflicts: Conflicts
    isolated: bool
    parameters: dict[Any, Parameter] = field(default_factory=dict)
    symbols: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    profile: dict[Path, object] = field(default_factory=dict)
    partners: dict[Path, object] = field(default_factory=dict)
    new_hints: Hints = field(default_factory=Hints)
    state: PathState = field(default_factory=PathState.empty)

    def origin(self, path: Path) -> Origin:
        return self.key, path

    def value(self, path: Path, type_: Type) -> Value:
        """The value of the argument for the leaf ``path``."""
        key = (path, type_)
        if key not in self.cache:
            self.cache[key] = self.recorder.new_value(type_, name_of(path))
        return self.cache[key]  # type: ignore[no-any-return]

    def common(self, expressions: tuple[sympy.Basic, ...]) -> int | None:
        """The position of an integer expression that is right on every arrival, and made of symbols that all of them
        know; ``expressions`` has one for each. None if there is none."""
        everyone = [a.path.facts for a in self.arrivals]
        if self.isolated:
            return 0 if expressions[0].is_Integer and len(set(expressions)) == 1 else None
        for n, candidate in enumerate(expressions):
            if all(
                candidate.free_symbols <= facts.ranges.keys() and facts.are_equal(candidate, e)
                for facts, e in zip(everyone, expressions, strict=True)
            ):
                return n
        return None

    def floor(self, path: Path, expressions: tuple[sympy.Basic, ...], default: int | None = None) -> int | None:
        """1 or 0, if the integer ``path`` has always been at least that much on every arrival, or else ``default``."""
        lowest = min(bound_sympy(e, a.path.facts.ranges).lower for e, a in zip(expressions, self.arrivals, strict=True))
        floor = 1 if lowest >= 1 else 0 if lowest >= 0 else default
        if path in self.hints.floors and floor is not None:
            before = self.hints.floors[path]
            floor = before if before is None else min(floor, before)
        self.new_hints.floors[path] = self.profile[(*path, "floor")] = floor
        return floor

    def merge_paths(self, ranges: list[tuple[sympy.Symbol, int | None]]) -> None:
        """Keeps what all paths know; ``ranges`` are lower bounds of symbols that are arguments of the join."""
        paths, state = [a.path for a in self.arrivals], self.state
        state.depth = max(p.depth for p in paths)
        if not self.isolated:
            state.facts = functools.reduce(lambda a, b: a.common(b), (p.facts for p in paths)).copy()
        for symbol, lower in ranges:
            state.facts.declare(symbol, lower)
        if self.isolated:
            return
        first, *others = paths
        state.decided = {k: v for k, v in first.decided.items() if all(p.decided.get(k) is v for p in others)}
        state.items = {k: v for k, v in first.items.items() if all(k in p.items and p.items[k] is v for p in others)}
        for p in paths:
            for storage, origins in p.conflicts.items():
                state.blame(storage, origins)
            for storage, version in p.versions.items():
                state.versions[storage] = max(state.versions.get(storage, 0), version)
