"""Python program -> control-flow graph.

The user's functions are interpreted (``machine``) on fake tensors (``recorder``), path by path (``explorer``); where
paths meet in equal or mergeable states they go on as one (``merge``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from toolchain.frontend.entries import Call, Dynamic
from toolchain.frontend.host_calls import HostCalls
from toolchain.frontend.program import explore_calls
from toolchain.ir import Program

DEFAULT_BUDGET = 20_000


def explore(
    module: Callable[..., Any],
    calls: Sequence[Call],
    budget: int = DEFAULT_BUDGET,
    progress: Callable[[int], None] | None = None,
    host_calls: HostCalls | None = None,
) -> Program:
    """The program of ``module`` for calls like ``calls``.

    budget: how many blocks may be explored. progress: called with that number. host_calls: functions that the program
    calls as they are, besides those that say so themselves.
    Raises UnsupportedModelError with every problem found, before anything is compiled.
    """
    return explore_calls(module, calls, budget, progress, host_calls)


__all__ = ["DEFAULT_BUDGET", "Call", "Dynamic", "HostCalls", "explore"]
