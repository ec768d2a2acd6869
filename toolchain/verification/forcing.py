"""Takes the edges that no free run took, by forcing decisions in the compiled host and in eager Python alike.

The host goes first, guided to the edge; the machine then repeats the host's decisions, matched by their location, so
that both have run the same path and must have done the same. Where they part after eager code decided something by
itself, nothing can be concluded: the front end may have drawn that answer from a forced one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import runtime_py
from toolchain.frontend import HostCalls
from toolchain.frontend.eager import NotFollowed
from toolchain.ir import Location
from toolchain.options import Example
from toolchain.verification.graph import BranchEdge, Graph, Guide
from toolchain.verification.outcomes import FORCED, Outcome, compare
from toolchain.verification.worlds import Followed, HostRun, Place, place_of, run_host

FUEL = 1_000
"""The most decisions of one forced run."""
_SIZES = "depends on sizes or counts alone: no tried input took it"
_NATIVE = "is decided inside of an operation, where eager Python cannot be forced: no tried input took it"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One forced run.

    covered:    the edges that both worlds took; none if they cannot be compared or differ.
    difference: what is wrong with the bundle, or "".
    reason:     why the edge was not covered, or "".
    may_vary:   a branch that cannot be forced led elsewhere: with quite another input it may not.
    by_count:   that branch depends on extents, or on how often something happened.
    """

    covered: frozenset[BranchEdge]
    difference: str = ""
    reason: str = ""
    may_vary: bool = False
    by_count: bool = False


class Forcing:
    """Forced runs of one bundle.

    visible: places where eager code was seen to decide.
    """

    def __init__(
        self,
        session: runtime_py.Session,
        module: Callable[..., Any],
        names: Sequence[str],
        graph: Graph,
        visible: set[Place],
        host_calls: HostCalls,
        fuel: int = FUEL,
    ) -> None:
        self._session = session
        self._module = module
        self._names = names
        self._graph = graph
        self._visible = visible
        self._host_calls = host_calls
        self._fuel = fuel
        self._native: set[Place] = set()

    def attempt(self, edge: BranchEdge, history: Sequence[Example]) -> Attempt:
        """Tries to take ``edge`` in the last call of ``history``; those before it run freely, from the first state."""
        self._session.reset()
        followed = Followed(self._module, self._names, self._host_calls)
        for earlier in history[:-1]:
            run_host(self._session, earlier)
            followed.call(earlier)
        guide = Guide(self._graph, edge, self._fuel, self._native)
        with self._session.guide(guide):
            host = run_host(self._session, history[-1])
        if not guide.reached:
            led_away = guide.led_away
            by_count = led_away is not None and not self._graph.is_data(*led_away)
            return Attempt(frozenset(), "", self._why_not(host, guide), led_away is not None, by_count)
        if host.failure:
            return Attempt(frozenset(), difference=f"the bundle fails: {host.failure}")
        attempt = self._repeat(host, followed, history[-1])
        native = {place for place in guide.forced if place not in self._visible}
        if attempt.difference and native:
            self._native |= native
            return Attempt(frozenset(), reason=_NATIVE, may_vary=True)
        return attempt

    def _why_not(self, host: HostRun, guide: Guide) -> str:
        if host.failure:
            return f"the call is refused: {host.failure.splitlines()[0]}"
        if guide.led_away is not None:
            return _SIZES if not self._graph.is_data(*guide.led_away) else _NATIVE
        if host.out_of_fuel:
            return f"no run came to it within {self._fuel} decisions"
        if host.outcome.exception:
            kind, text = host.outcome.exception
            return f"the forced run raises before: {kind}: {text}"
        return "no tried call comes to it"

    def _repeat(self, host: HostRun, followed: Followed, example: Example) -> Attempt:
        """The same decisions in eager Python."""
        data = [d for d in host.decisions if self._graph.is_data(d.function, d.block)]
        answers = [(self._graph.place(d.function, d.block), d.taken) for d in data]
        script = _Script(answers, self._visible, ends=host.out_of_fuel)
        covered = frozenset(BranchEdge(*decision) for decision in host.decisions)
        try:
            outcome, run = followed.follow(example, script.decide, 4 * self._fuel)
        except NotFollowed as error:
            return Attempt(frozenset(), reason=f"eager Python cannot be forced there: {error}")
        if not run.is_complete:
            endless = "eager Python does not end, the bundle does"
            return Attempt(covered) if host.out_of_fuel else self._parted(script, endless)
        return self._judge(host, outcome, script, covered)

    def _judge(self, host: HostRun, outcome: Outcome, script: _Script, covered: frozenset[BranchEdge]) -> Attempt:
        if host.out_of_fuel:
            return self._parted(script, "eager Python ends, the bundle does not")
        differences = compare(outcome, host.outcome, FORCED).differences
        if script.unused():
            differences.append("eager Python does not come to all decisions of the bundle")
        return self._parted(script, differences[0]) if differences else Attempt(covered)

    @staticmethod
    def _parted(script: _Script, what: str) -> Attempt:
        if script.contradicted:
            return Attempt(frozenset(), reason=f"forced answers contradict what decides elsewhere: {what}")
        return Attempt(frozenset(), difference=what)


class _Script:
    """Hands out the host's answers, in order, to the decisions at the same places.

    ends:         the run ends with the answers.
    contradicted: after an answer that the values do not give, eager code decided something by itself that the host did
                  not; the front end may have drawn that from the forced answer.
    """

    def __init__(self, answers: Sequence[tuple[Place, bool]], visible: set[Place], ends: bool) -> None:
        self.contradicted = False
        self._answers = deque(answers)
        self._visible = visible
        self._ends = ends
        self._is_forced = False

    def decide(self, location: Location, natural: bool) -> bool | None:
        place = place_of(location)
        if self._ends and not self._answers:
            return None
        self._visible.add(place)
        answer = self._next(place)
        if answer is None:
            self.contradicted |= self._is_forced
            return natural
        self._is_forced |= answer != natural
        return answer

    def _next(self, place: Place) -> bool | None:
        """The answer for ``place``, if it is the next one in sight; decisions in native code are passed over."""
        for number, (expected, answer) in enumerate(self._answers):
            if expected == place:
                for _ in range(number + 1):
                    self._answers.popleft()
                return answer
            if expected in self._visible:
                return None
        return None

    def unused(self) -> bool:
        return any(place in self._visible for place, _ in self._answers)
