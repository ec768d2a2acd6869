"""``verify``: runs what there is to run and sums it up in a verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import runtime_py
from toolchain.frontend import HostCalls
from toolchain.options import Example, ProgressCallback, as_examples
from toolchain.recording import one_thread
from toolchain.results import Infeasible, Verdict
from toolchain.verification.forcing import Attempt, Forcing
from toolchain.verification.graph import BranchEdge, Graph
from toolchain.verification.inputs import InputMaker, entry_of
from toolchain.verification.natural import Judgement, NaturalRuns
from toolchain.verification.worlds import place_of

SEED = 0
# Extents at which programs tend to go another way.
EXTENTS = (0, 1, 2, 3, 5, 8)
# How far beyond the examples numbers may go, to get at what only unusual ones do.
SPREADS = (3, 10, 30, 100)
ATTEMPTS, RANDOM_ATTEMPTS, FORCED_RUNS = 4, 4, 400
MOST_EXCLUDED = 0.05

RandomInputs = Callable[[int, int], Iterable[Any]]


def verify_bundle(
    path: Path,
    module: Callable[..., Any],
    examples: Sequence[Example],
    *,
    random: int,
    forced_paths: bool,
    target: str | None,
    random_inputs: RandomInputs | None,
    progress: ProgressCallback | None = None,
    host_calls: HostCalls | None = None,
) -> Verdict:
    """Compares the bundle at ``path`` with ``module`` in eager PyTorch; arguments as in ``toolchain.verify``.

    The examples run in order, then the random inputs, each world carrying its state along. Forced runs start from the
    state after loading. Raises ``runtime_py.SessionError`` when the bundle cannot be loaded or an example does not fit.
    """
    known = host_calls or HostCalls()
    with one_thread(), runtime_py.load(path, target, host_calls=known.functions) as session:
        return _Verification(session, module, examples, progress, known).run(random, forced_paths, random_inputs)


class _Verification:
    def __init__(
        self,
        session: runtime_py.Session,
        module: Callable[..., Any],
        examples: Sequence[Example],
        progress: ProgressCallback | None,
        host_calls: HostCalls,
    ) -> None:
        self._session = session
        self._host_calls = host_calls
        self._module = module
        self._examples = examples
        self._progress = progress
        self._graph = Graph(session.manifest)
        self._inputs = InputMaker(session.manifest, examples, SEED)
        self._natural = NaturalRuns(session, module, self._graph, host_calls)
        self._covered: set[BranchEdge] = set()
        self._infeasible: dict[BranchEdge, str] = {}
        self._differences: list[str] = []

    def run(self, random: int, forced_paths: bool, random_inputs: RandomInputs | None) -> Verdict:
        self._free(list(self._examples), "example", given=True)
        self._free(self._random(random, random_inputs), "random input", given=False)
        judgements = self._take()
        compared = len(judgements)
        if forced_paths:
            self._free(self._odd_extents(), "odd extents", given=False)
            judgements += self._take(compared)
            self._force()
        return self._verdict(judgements, compared, random)

    # ---- free runs

    def _random(self, count: int, random_inputs: RandomInputs | None) -> list[Example]:
        if not count:
            return []
        if random_inputs is None:
            return list(self._inputs.draw(count))
        return list(as_examples(list(random_inputs(count, SEED))))

    def _odd_extents(self) -> list[Example]:
        """Calls with unusual extents, where some edge is not covered yet."""
        left = {self._graph.functions[edge.function].entry for edge in self._left()}
        entries = [entry for entry in sorted(left) if self._inputs.has_varying_extents(entry)]
        return [self._inputs.draw_entry(entry, extent) for entry in entries for extent in EXTENTS]

    def _free(self, calls: Sequence[Example], label: str, given: bool) -> None:
        for number, example in enumerate(calls):
            self._tell(f"verifying: {label}s", number, len(calls))
            self._natural.call(example, f"{label} {number}", given)

    def _take(self, start: int = 0) -> list[Judgement]:
        """The judgements of the runs from ``start`` on, with their edges counted."""
        judgements = self._natural.judge(self._natural.runs[start:])
        for judgement in judgements:
            self._covered |= judgement.covered
        return judgements

    # ---- forced runs

    def _left(self) -> list[BranchEdge]:
        return [edge for edge in self._graph.edges() if edge not in self._covered]

    def _force(self) -> None:
        visible = {place_of(d.location) for run in self._natural.runs for d in run.eager}
        names, functions = self._natural.names, self._host_calls
        forcing = Forcing(self._session, self._module, names, self._graph, visible, functions)
        edges, runs = self._left(), 0
        for number, edge in enumerate(edges):
            self._tell("verifying: forced paths", number, len(edges))
            if edge in self._covered:
                continue
            if runs >= FORCED_RUNS:
                untried = f"{self._graph.describe(edge)}: not tried after {FORCED_RUNS} forced runs"
                self._differences.append(untried)
                continue
            attempts = self._attempts(forcing, edge)
            runs += len(attempts)
            self._settle(edge, attempts)

    def _attempts(self, forcing: Forcing, edge: BranchEdge) -> list[Attempt]:
        made: list[Attempt] = []
        varies = self._inputs.has_varying_extents(self._graph.functions[edge.function].entry)
        for history in self._histories(edge.function):
            if len(made) >= ATTEMPTS and not (made[-1].may_vary and (varies or not made[-1].by_count)):
                break
            made.append(forcing.attempt(edge, history))
            if edge in made[-1].covered:
                break
        return made

    def _settle(self, edge: BranchEdge, attempts: Sequence[Attempt]) -> None:
        covered = frozenset[BranchEdge]().union(*(a.covered for a in attempts))
        self._covered |= covered
        differences = [a.difference for a in attempts if a.difference]
        if differences:
            self._differences.append(f"forced path to {self._graph.describe(edge)}: {differences[0]}")
        if edge not in covered and not differences:
            reasons = [a.reason for a in attempts if a.reason]
            self._infeasible[edge] = reasons[0] if reasons else "no call came to this state of the program"

    def _histories(self, function: str) -> Iterator[tuple[Example, ...]]:
        """Calls that lead into ``function``, the last of each being the one to force."""
        summary = self._graph.functions[function]
        known = self._natural.histories.get(function)
        if known is None and summary.state:
            return
        before = known[:-1] if known else ()
        if known:
            yield known
        alike = [e for e in self._examples if entry_of(self._session.manifest, e) == summary.entry]
        yield from ((*before, example) for example in alike if not known or example is not known[-1])
        if self._inputs.knows(summary.entry):
            yield from ((*before, self._inputs.draw_entry(summary.entry)) for _ in range(RANDOM_ATTEMPTS))
        if self._inputs.has_varying_extents(summary.entry):
            yield from ((*before, self._inputs.draw_entry(summary.entry, extent)) for extent in EXTENTS)
        if self._inputs.knows(summary.entry):
            yield from ((*before, self._inputs.draw_entry(summary.entry, spread=spread)) for spread in SPREADS)

    # ---- the verdict

    def _verdict(self, judgements: Sequence[Judgement], compared: int, random: int) -> Verdict:
        wrong = [j for j in judgements if not j.agrees and not j.excluded]
        excluded = sum(j.excluded for j in judgements)
        differences = [line for j in wrong for line in _lines(j)] + self._differences
        if excluded > MOST_EXCLUDED * random:
            differences.append(f"{excluded} inputs are excluded, more than {MOST_EXCLUDED:.0%} of the random ones")
        edges = self._graph.edges()
        infeasible = [(e, reason) for e, reason in self._infeasible.items() if e not in self._covered]
        margins = [d.margin for j in judgements for d in j.run.eager if not math.isinf(d.margin)]
        return Verdict(
            ok=not differences,
            inputs=compared,
            edges=len(edges),
            edges_covered=len(self._covered & set(edges)),
            paths_equal=not any(j.path_differs for j in wrong),
            max_abs_error=max((j.run.error for j in judgements if j.agrees or not j.excluded), default=0.0),
            min_margin=min(margins, default=None),
            excluded=excluded,
            infeasible=tuple(Infeasible(self._graph.describe(edge), reason) for edge, reason in infeasible),
            differences=tuple(differences),
        )

    def _tell(self, stage: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(stage, done, total)


def _lines(judgement: Judgement) -> Iterator[str]:
    label = judgement.run.label
    yield from (f"{label}: {line}" for line in judgement.run.differences)
    if judgement.path_differs:
        yield f"{label}: the bundle decides another way than eager Python"
