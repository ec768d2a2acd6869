"""The edges of a bundle's control-flow graphs, and the way to one of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from typing import NamedTuple

from runtime_py.errors import FuelError
from runtime_py.format import BlockSummary, FunctionSummary, Manifest
from toolchain.verification.worlds import Place


class BranchEdge(NamedTuple):
    """One of the two ways out of a branch."""

    function: str
    block: int
    answer: bool


class Graph:
    """What a manifest says about its functions."""

    def __init__(self, manifest: Manifest) -> None:
        self.functions = {function.name: function for function in manifest.functions}
        self._blocks = {(f.name, b.id): b for f in manifest.functions for b in f.blocks}

    def edges(self) -> tuple[BranchEdge, ...]:
        branches = [key for key, block in self._blocks.items() if block.terminator == "branch"]
        return tuple(BranchEdge(*key, answer) for key in branches for answer in (True, False))

    def block(self, function: str, block: int) -> BlockSummary:
        return self._blocks[function, block]

    def is_data(self, function: str, block: int) -> bool:
        """Whether a branch depends on elements of tensors, so that it can be forced."""
        return self._blocks[function, block].kind == "data"

    def place(self, function: str, block: int) -> Place:
        place = self._blocks[function, block].place
        return place.file, place.line, place.function

    def describe(self, edge: BranchEdge) -> str:
        file, line, _ = self.place(edge.function, edge.block)
        return f"{edge.function}: block {edge.block} ({file}:{line}) {'true' if edge.answer else 'false'}"

    def distances(self, edge: BranchEdge) -> Mapping[int, int]:
        """Block to the number of edges from there to the branch of ``edge``, for all blocks that can get there."""
        incoming = _incoming(self.functions[edge.function])
        found = {edge.block: 0}
        work = deque([edge.block])
        while work:
            block = work.popleft()
            for source in incoming.get(block, ()):
                if source not in found:
                    found[source] = found[block] + 1
                    work.append(source)
        return found


def _incoming(function: FunctionSummary) -> Mapping[int, tuple[int, ...]]:
    found: dict[int, list[int]] = {}
    for block in function.blocks:
        for target in block.edges:
            found.setdefault(target, []).append(block.id)
    return {target: tuple(sources) for target, sources in found.items()}


class Guide:
    """Decides a run so that it takes ``edge``: at each data branch the way that is nearer to it, and after it what the
    program itself decides. Branches on sizes, and those at the places ``fixed``, go as they go.

    reached:  the run has taken the edge.
    led_away: the last branch that could not be forced and went another way than wanted.
    forced:   the places of answers that are not the program's own.
    """

    def __init__(self, graph: Graph, edge: BranchEdge, fuel: int, fixed: Collection[Place] = ()) -> None:
        self.reached = False
        self.led_away: tuple[str, int] | None = None
        self.forced: list[Place] = []
        self._fixed = fixed
        self._graph = graph
        self._edge = edge
        self._fuel = fuel
        self._distances = graph.distances(edge)

    def decide(self, function: str, block: int, condition: bool) -> bool:
        """Raises ``FuelError`` RT308 at the first decision beyond the fuel."""
        if self._fuel == 0:
            raise FuelError("RT308", f"the forced run made too many decisions (at block {block} of {function})")
        self._fuel -= 1
        if self.reached or function != self._edge.function:
            return condition
        wanted = self._wanted(block, condition)
        if condition != wanted:
            place = self._graph.place(function, block)
            if self._graph.is_data(function, block) and place not in self._fixed:
                condition = wanted
                self.forced.append(place)
            else:
                self.led_away = function, block
        self.reached = (function, block, condition) == self._edge
        return condition

    def _wanted(self, block: int, condition: bool) -> bool:
        if block == self._edge.block:
            return self._edge.answer
        far = len(self._distances) + 1
        targets = self._graph.block(self._edge.function, block).edges
        then, orelse = (self._distances.get(target, far) for target in targets)
        return condition if then == orelse else then < orelse
