"""Runs calls freely in all three worlds and judges them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import runtime_py
from runtime_py.decisions import Decision
from toolchain.frontend import HostCalls
from toolchain.frontend.eager import EagerDecision, NotFollowed
from toolchain.options import Example
from toolchain.verification.graph import BranchEdge, Graph
from toolchain.verification.outcomes import Outcome, compare
from toolchain.verification.worlds import Followed, Native, Place, place_of, run_host, state_names

# A comparison that is nearer than this to its other outcome may flip for no fault of the bundle.
MARGIN = 1e-4


@dataclass(slots=True)
class Run:
    """One call in all worlds.

    label:       for messages. given: an example, so that it must agree.
    history:     the calls before it, since the last reset, and the call itself.
    differences: between the outcomes. error: largest absolute difference of a float in the result.
    decisions:   of the host; ``eager`` those of the machine.
    margin:      the least margin of numbers that were read for other purposes than a decision.
    """

    label: str
    given: bool
    history: tuple[Example, ...]
    differences: list[str]
    error: float
    decisions: tuple[Decision, ...]
    eager: tuple[EagerDecision, ...]
    margin: float = math.inf


@dataclass(slots=True)
class Judgement:
    """What became of a run: agreement, disagreement, or a disagreement that a near decision excuses.

    covered: the edges that it took in agreement.
    """

    run: Run
    path_differs: bool
    excluded: bool
    covered: frozenset[BranchEdge] = field(default_factory=frozenset)

    @property
    def agrees(self) -> bool:
        return not self.run.differences and not self.path_differs


class NaturalRuns:
    """Makes calls in order: native Python, the machine and the session each carry their state along."""

    def __init__(
        self, session: runtime_py.Session, module: Callable[..., Any], graph: Graph, host_calls: HostCalls
    ) -> None:
        self._session = session
        self._module = module
        self._host_calls = host_calls
        self._graph = graph
        self.names = state_names(session.manifest.states)
        self.runs: list[Run] = []
        self.histories: dict[str, tuple[Example, ...]] = {}
        self._restart()

    def _restart(self) -> None:
        self._session.reset()
        self._native = Native(self._module, self.names)
        self._followed = Followed(self._module, self.names, self._host_calls)
        self._history: tuple[Example, ...] = ()

    def call(self, example: Example, label: str, given: bool) -> Run:
        """Runs one call; a disagreement starts all worlds anew, so that it does not spoil the next one."""
        self._history = (*self._history, example) if self.names else (example,)
        expected = self._native.call(example)
        host = run_host(self._session, example)
        run = Run(label, given, self._history, [], 0.0, host.decisions, ())
        if host.failure:
            run.differences.append(f"the bundle fails: {host.failure}")
        else:
            found = compare(expected, host.outcome)
            run.differences, run.error = found.differences, found.error
        self._follow(example, expected, run)
        for decision in host.decisions[:1]:
            self.histories.setdefault(decision.function, self._history)
        self.runs.append(run)
        if run.differences:
            self._restart()
        return run

    def _follow(self, example: Example, expected: Outcome, run: Run) -> None:
        """The decisions of the call, from the machine, which must do the same as Python."""
        try:
            outcome, eager = self._followed.follow(example, lambda _, natural: natural)
        except NotFollowed as error:
            run.differences.append(f"its decisions cannot be seen: {error}")
            return
        run.eager, run.margin = eager.decisions, eager.margin
        odd = compare(expected, outcome).differences
        run.differences += [f"the front end's reading of the program: {line}" for line in odd]

    def judge(self, runs: Sequence[Run]) -> list[Judgement]:
        """Says which runs agree. Host decisions at places where eager code never decides in sight (inside native code)
        are not compared."""
        visible = {place_of(decision.location) for run in self.runs for decision in run.eager}
        return [self._judge(run, visible) for run in runs]

    def _judge(self, run: Run, visible: set[Place]) -> Judgement:
        host = [(place, d.taken) for d, place in self._data(run.decisions) if place in visible]
        differs = not is_subsequence(host, [(place_of(d.location), d.answer) for d in run.eager])
        margin = min((d.margin for d in run.eager), default=math.inf) if differs else run.margin
        judgement = Judgement(run, differs, False)
        if judgement.agrees:
            judgement.covered = frozenset(BranchEdge(*decision) for decision in run.decisions)
        judgement.excluded = not judgement.agrees and not run.given and margin < MARGIN
        return judgement

    def _data(self, decisions: Sequence[Decision]) -> list[tuple[Decision, Place]]:
        data = [d for d in decisions if self._graph.is_data(d.function, d.block)]
        return [(d, self._graph.place(d.function, d.block)) for d in data]


def is_subsequence(part: Sequence[object], whole: Sequence[object]) -> bool:
    """Whether ``part`` is ``whole`` with some elements left out: the front end knew the answers of these."""
    rest = iter(whole)
    return all(element in rest for element in part)
