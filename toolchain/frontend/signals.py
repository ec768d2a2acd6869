"""What the front end raises while it runs the user's program.

Control signals derive from BaseException, so that ``except Exception`` in the user's code cannot catch them; once one
is in flight the recorder is closed, so that ``finally`` blocks cannot record either.
"""

from __future__ import annotations

import builtins
import dis
from pathlib import Path

from toolchain.diagnostics import Problem

_HERE = str(Path(__file__).parent)
_MACHINE = str(Path(__file__).parent / "machine")


class Signal(BaseException):
    """Base of the control signals; never seen by users."""


class PathEnds(Signal):
    """The current block is complete: a decision or a join inside native code ended it."""


class NeedsConstant(Signal):
    """A staged scalar was used where only a constant will do.

    origins: the block arguments that it stems from; exploring again without widening them makes it a constant.
    """

    def __init__(self, origins: frozenset[Origin], what: str) -> None:
        super().__init__(what)
        self.origins = origins
        self.what = what


class KeepIdentity(Signal):
    """A tensor merged from different storages is changed in place (or compared with ``is``): do not merge there."""

    def __init__(self, origins: frozenset[Origin]) -> None:
        super().__init__()
        self.origins = origins


class Unsupported(Signal):
    """The program cannot be staged; ``problem`` gets its location from the frame that is running."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class ExamplesNeeded(Signal):
    """What a host call gives is not known before the examples have been run."""


class ExplorationFailed(Exception):
    """Carries the problems out of the exploration."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems)
        self.problems = problems


def builtin_name(kind: type[BaseException]) -> str:
    """The nearest built-in base of an exception: what compiled programs raise in its place."""
    return next(str(k.__name__) for k in kind.__mro__ if getattr(builtins, k.__name__, None) is k)


def is_internal(exception: BaseException) -> bool:
    """Whether ``exception`` is a defect of the front end, not something that the user's program raised.

    What the front end raises on the program's behalf comes from a ``raise`` statement; native code of the program runs
    in ``machine``.
    """
    trace = exception.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    if not code.co_filename.startswith(_HERE) or code.co_filename.endswith("polyfills.py"):
        return False
    if isinstance(exception, AssertionError):
        return True
    is_raised = dis.opname[code.co_code[trace.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")
    is_native = isinstance(exception, (RuntimeError, IndexError, ValueError, ArithmeticError))
    return not (is_raised or is_native or code.co_filename.startswith(_MACHINE))


Origin = tuple[object, object]
"""A block argument: (node, path of the leaf in the abstract state)."""
