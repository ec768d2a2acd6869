"""What is known of the functions that the host program calls: their names, and what they give.

What a function gives is declared, or what it gave in the example calls: these are run once, on real tensors, as soon as
the exploration comes to a call of which it is not known.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from runtime_py.host_calls import Results
from toolchain.diagnostics import UsageError
from toolchain.frontend.entries import Call, Dynamic, rebuild
from toolchain.frontend.signals import Unsupported
from toolchain.host_calls import HostCall, as_host_call, marked
from toolchain.ir import Program, user_functions

_RENAME = "give it another name: toolchain.host_call(name=...)"
Kinds = tuple[str, ...]
"""Dtype and rank, or the type, of every argument."""


class HostCalls:
    """functions: all that were called, and those that the user gave, by name; they take and give NumPy's arrays.
    is_observed: the examples have been run."""

    def __init__(self, given: Sequence[Callable[..., Any]] = ()) -> None:
        """given: of ``build(host_calls=...)``. Raises ``UsageError`` TC228."""
        self.functions: dict[str, Callable[..., Any]] = {}
        self.is_observed = False
        self._plain: list[HostCall] = []
        self._seen: dict[tuple[str, Kinds], Results] = {}
        self._clashes: dict[tuple[str, Kinds], str] = {}
        self._failures: dict[str, str] = {}
        self._stopped = ""
        for made in map(as_host_call, given):
            if problem := self._problem(made):
                raise UsageError("TC228", problem, _RENAME)
            self._plain += [made] if made.is_plain else []

    def find(self, function: Any) -> HostCall | None:
        """What the host program calls in the place of ``function``; None if it is none of these functions."""
        found = marked(function) or next((made for made in self._plain if made.function is function), None)
        if found is not None and (problem := self._problem(found)):
            raise Unsupported("TC164", problem, _RENAME)
        return found

    def _problem(self, made: HostCall) -> str:
        """What is wrong with the name; if nothing is, it is that of ``made`` from now on."""
        if made.name not in self.functions and not made.is_found:
            return f"the name of the host call {made.name} leads to another function in that module"
        if self.functions.setdefault(made.name, made.function) is not made.function:
            return f"two functions have the name {made.name} as host calls"
        return ""

    def needed_by(self, program: Program) -> dict[str, Callable[..., Any]]:
        """The functions that ``program`` calls, by name."""
        return {function.name: self.functions[function.name] for function in user_functions(program)}

    # ---- what functions give

    def observe(self, module: Callable[..., Any], calls: Sequence[Call]) -> None:
        """Runs the example calls, in order, on a copy of ``module``."""
        from toolchain.frontend.eager import NotFollowed, run_eager

        self.is_observed = True
        own = copy.deepcopy(module)
        for call in calls:
            args, kwargs = _fresh(call.args), _fresh(call.kwargs)
            try:
                run_eager(own, args, kwargs, lambda _, natural: natural, host_calls=self)
            except NotFollowed as stop:
                self._stopped = f"the examples cannot be followed to such a call ({stop.message})"
                return

    def note(self, made: HostCall, kinds: Kinds, given: Results) -> None:
        """A call has given this."""
        key = made.name, kinds
        known = self._seen.setdefault(key, given)
        joined = known.join(given)
        if joined is None:
            self._clashes[key] = f"it gave {known} in one example call and {given} in another"
        else:
            self._seen[key] = joined

    def note_failure(self, made: HostCall, error: Exception) -> None:
        self._failures[made.name] = f"with the example it raised {type(error).__name__}: {error}"

    def results(self, made: HostCall, kinds: Kinds) -> Results:
        """What a call gives. Raises Unsupported TC163 if neither its declaration nor an example says."""
        declared, key = made.results, (made.name, kinds)
        if declared is not None:
            return declared
        if key in self._seen and key not in self._clashes:
            return self._seen[key]
        unseen = self._stopped or f"no example calls it with ({', '.join(kinds)})"
        why = self._clashes.get(key) or self._failures.get(made.name) or unseen
        text = f"what the host call {made.name} gives is not known: {why}"
        raise Unsupported("TC163", text, "declare it: @toolchain.host_call(result=...)")


def _fresh(value: Any) -> Any:
    """Arguments of which a call may change every tensor."""
    return rebuild(value, lambda leaf, _: leaf.value if isinstance(leaf, Dynamic) else leaf.clone())
