"""The ways to run a call: plain Python, the front end's machine on real tensors, and the compiled host program."""

from __future__ import annotations

import ast
import contextlib
import copy
import dis
import io
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from types import TracebackType
from typing import Any

import torch

import runtime_py
from runtime_py.decisions import Decision
from runtime_py.errors import FuelError
from toolchain.frontend import HostCalls
from toolchain.frontend.eager import Decide, EagerRun, plain, run_eager
from toolchain.frontend.graph import REPLACED
from toolchain.ir import Location
from toolchain.options import Example
from toolchain.recording import call_arguments
from toolchain.replay import builtin_base
from toolchain.verification.outcomes import Outcome

Place = tuple[str, int, str]
"""Where a decision stands, as bundles name it: file without folders, line, function."""

_TORCH = str(PurePath(torch.__file__).parent)
_RAISING = frozenset(("RAISE_VARARGS", "RERAISE"))
_STEP = re.compile(r"^(?P<root>\w+)|\.(?P<attribute>\w+)|\[(?P<key>[^\]]+)\]")


def place_of(location: Location) -> Place:
    return PurePath(location.file).name, location.line, location.function


class Native:
    """A copy of the module that plain Python runs; it keeps its state from call to call."""

    def __init__(self, module: Callable[..., Any], names: Iterable[str]) -> None:
        self.module = copy.deepcopy(module)
        self._names = tuple(name for name in names if not name.endswith(REPLACED))

    def call(self, example: Example) -> Outcome:
        args, kwargs = call_arguments(example)
        printed = io.StringIO()
        with torch.no_grad(), contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result, error = copy.deepcopy(self.module(*args, **kwargs)), None
            except Exception as exception:
                result, error = None, exception
        return Outcome(result, _described(error), _is_stated(error), (args, kwargs), self.state(), printed.getvalue())

    def state(self) -> dict[str, Any]:
        """The present values of what calls leave behind, by the bundle's names, as far as the module has them."""
        found = {name: _lookup(self.module, name) for name in self._names}
        return {name: copy.deepcopy(plain(value[0])) for name, value in found.items() if value}


class Followed(Native):
    """A copy of the module that the machine runs, so that its decisions can be seen and forced."""

    def __init__(self, module: Callable[..., Any], names: Iterable[str], host_calls: HostCalls) -> None:
        super().__init__(module, names)
        self._host_calls = host_calls

    def follow(self, example: Example, decide: Decide, fuel: int = 100_000) -> tuple[Outcome, EagerRun]:
        """Raises ``NotFollowed`` and ``OutOfFuel``."""
        args, kwargs = call_arguments(example)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            run = run_eager(self.module, args, kwargs, decide, fuel, self._host_calls)
        result = copy.deepcopy(run.result)
        described = _described(run.exception)
        return Outcome(result, described, run.stated, (args, kwargs), self.state(), printed.getvalue()), run


@dataclass(frozen=True, slots=True)
class HostRun:
    """What the compiled host did.

    decisions:    every branch, in order.
    out_of_fuel:  a forced run made more decisions than allowed.
    failure:      what the runtime says when the run failed, or "".
    """

    outcome: Outcome
    decisions: tuple[Decision, ...]
    out_of_fuel: bool = False
    failure: str = ""


def run_host(session: runtime_py.Session, example: Example) -> HostRun:
    """Calls the session; what the runtime itself raises is part of the answer."""
    args, kwargs = call_arguments(example)
    printed = io.StringIO()
    result, error, failure, out_of_fuel = None, None, "", False
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(), session.trace() as decisions:
        warnings.simplefilter("ignore")
        try:
            result = session(*args, **kwargs)
        except FuelError:
            out_of_fuel = True
        except runtime_py.SessionError as exception:
            failure = str(exception)
        except Exception as exception:
            error = exception
    outcome = Outcome(result, _described(error), False, (args, kwargs), dict(session.state), printed.getvalue())
    return HostRun(outcome, tuple(decisions), out_of_fuel, failure)


def _described(error: BaseException | None) -> tuple[str, str] | None:
    return None if error is None else (builtin_base(type(error)).__name__, str(error))


def _is_stated(error: BaseException | None) -> bool:
    """Whether a statement of Python raised the exception, outside of PyTorch, and not an operation."""
    traceback = error.__traceback__ if error is not None else None
    if traceback is None:
        return False
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return _instruction(traceback) in _RAISING and not traceback.tb_frame.f_code.co_filename.startswith(_TORCH)


def _instruction(traceback: TracebackType) -> str:
    code = traceback.tb_frame.f_code
    return next(i.opname for i in dis.get_instructions(code) if i.offset == traceback.tb_lasti)


def _lookup(module: Any, name: str) -> tuple[Any] | None:
    """What a name such as ``layers.0.cache['k'][1]`` leads to from ``module``, in a tuple; None if it leads nowhere."""
    value: Any = module
    for step in _STEP.finditer(name):
        attribute = step["root"] or step["attribute"]
        try:
            value = getattr(value, attribute) if attribute else value[ast.literal_eval(step["key"])]
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            return None
    return (value,)


def state_names(states: Iterable[Any]) -> tuple[str, ...]:
    """The names of everything that calls leave behind, from a manifest's states."""
    names = {slot.name for state in states for slot in state.slots}
    return tuple(sorted(names | {a.name for state in states for a in state.attributes}))
