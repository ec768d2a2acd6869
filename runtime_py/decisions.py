"""Watching and overriding the decisions of a program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from runtime_py.errors import FuelError
from runtime_py.format import Manifest


class Decision(NamedTuple):
    """A branch that was taken: ``FunctionSummary.name``, ``BlockSummary.id``, and whether its condition held."""

    function: str
    block: int
    taken: bool


def size_branches(manifest: Manifest) -> frozenset[tuple[str, int]]:
    """(function, block) of the branches that depend on extents only; these cannot be forced."""
    return frozenset((f.name, b.id) for f in manifest.functions for b in f.blocks if b.kind == "size")


class Tracer:
    """Records decisions."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []

    def decide(self, function: str, block: int, condition: bool) -> bool:
        self.decisions.append(Decision(function, block, condition))
        return condition


class Forcer:
    """Answers data decisions from a list, in order, and lets the program decide when that is used up."""

    def __init__(self, answers: Iterable[bool], fuel: int, fixed: frozenset[tuple[str, int]]) -> None:
        self._answers = iter(tuple(answers))
        self._fuel = fuel
        self._fixed = fixed

    def decide(self, function: str, block: int, condition: bool) -> bool:
        """Raises ``FuelError`` RT308 at the first decision beyond the fuel."""
        if self._fuel == 0:
            text = f"the forced run made too many decisions (at block {block} of {function})"
            raise FuelError("RT308", text, "this path may never end by itself; raise the fuel if it does")
        self._fuel -= 1
        return condition if (function, block) in self._fixed else next(self._answers, condition)
