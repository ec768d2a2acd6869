"""Tables of instructions: which function executes which."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolchain.frontend.machine.frame import Frame

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine

Handler = Callable[["Machine", Frame, int, Any], None]
"""(machine, frame, argument, instruction)."""

Register = Callable[..., Callable[[Handler], Handler]]


def table() -> tuple[dict[str, Handler], Register]:
    """A table of handlers by the names that CPython 3.11 gives instructions, and the decorator that fills it."""
    handlers: dict[str, Handler] = {}

    def handles(*names: str) -> Callable[[Handler], Handler]:
        def register(function: Handler) -> Handler:
            handlers.update(dict.fromkeys(names, function))
            return function

        return register

    return handlers, handles
