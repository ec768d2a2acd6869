"""Runs a program in the machine on real tensors, in plain eager semantics, to see and to force its decisions.

``EagerRecorder`` stands in for the ``Recorder``: numbers that are read from tensors are staged values that hold the
number itself, so that the machine reports the same decisions as in an exploration, each with its location. Operations
run at once, in place where the program says so. Decisions inside native code (a PyTorch function written in Python that
tests a tensor) are made by that code as ever; they are not reported and cannot be forced.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import torch

from toolchain.diagnostics import VerificationError
from toolchain.frontend.context import Staged, pop_context, push_context
from toolchain.frontend.host_calls import HostCalls
from toolchain.frontend.machine import polyfills
from toolchain.frontend.machine.frame import PUSH
from toolchain.frontend.machine.interpreter import Finished, Machine
from toolchain.frontend.margins import Margins, margin_of, relative_margin
from toolchain.frontend.numbers import StagedBool, StagedInt, StagedNumber, to_bool
from toolchain.frontend.signals import Origin, Signal, Unsupported
from toolchain.frontend.staged import HostList, StagedStr, wrap
from toolchain.frontend.storages import PathState, Storage, View
from toolchain.ir import BOOL, FLOAT, INT, Location, Type
from toolchain.ir.semantics import TABLE

Decide = Callable[[Location, bool], bool | None]
"""Gets the location of a decision and the answer that the values give. Returns the one to take; None ends the run."""
_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_TRUNCATIONS = frozenset(("int", "floor", "ceil", "trunc", "floordiv", "mod"))


@dataclass(frozen=True, slots=True)
class EagerDecision:
    """A conditional jump on a value of run time.

    location: of the jump. answer: which way it went. natural: which way it would have gone by itself.
    margin:   how far the comparisons behind it were from flipping; infinite if they are exact.
    """

    location: Location
    answer: bool
    natural: bool
    margin: float


@dataclass(frozen=True, slots=True)
class EagerRun:
    """What one call did.

    result:    what it returned, free of staged values; None if it raised.
    exception: what it raised.
    stated:    the exception came from a ``raise`` or ``assert`` of the program, not from an operation.
    margin:    the least margin of a number that the program read and may have used other than for a decision.
    is_complete: it came to an end by itself.
    """

    result: Any
    exception: BaseException | None
    stated: bool
    decisions: tuple[EagerDecision, ...]
    margin: float
    is_complete: bool = True


class _RunEnds(Signal):
    """The run is to go no further."""


class NotFollowed(VerificationError):
    """The machine cannot run this program eagerly."""

    def __init__(self, signal: Unsupported, at: Location) -> None:
        super().__init__(signal.code, f"{at}: {signal.message}", signal.hint)


class EagerRecorder:
    """What the machine needs of a recorder, computed at once on real tensors."""

    is_symbolic = False
    closed = False

    def __init__(self, machine: Machine, decide: Decide, fuel: int) -> None:
        self.state = PathState.empty()
        self.decisions: list[EagerDecision] = []
        self.margin = math.inf
        self._machine = machine
        self._decide = decide
        self._fuel = fuel
        self.pending = math.inf
        self._answers: dict[int, tuple[StagedBool, bool]] = {}
        self._items: dict[tuple[int, int], tuple[torch.Tensor, Any]] = {}

    # ---- host operations

    def host(self, opcode: str, operands: tuple[Any, ...], result: Type, attributes: tuple[object, ...] = ()) -> Any:
        self._watch(opcode, operands)
        return TABLE[opcode](*operands, *attributes)

    def host_many(
        self, opcode: str, operands: tuple[Any, ...], results: tuple[Type, ...], attributes: tuple[object, ...] = ()
    ) -> tuple[Any, ...]:
        value = self.host(opcode, operands, BOOL, attributes)
        return () if not results else (value,) if len(results) == 1 else tuple(value)

    def _watch(self, opcode: str, operands: tuple[Any, ...]) -> None:
        """Notes how near a comparison or a rounding of floats is to another outcome."""
        if not any(isinstance(o, float) for o in operands):
            return
        if opcode in _COMPARISONS:
            self._note(relative_margin(operands[0], operands[1], opcode in ("eq", "ne")))
        elif opcode in _TRUNCATIONS and len(operands) == 1 and math.isfinite(operands[0]):
            self._note(relative_margin(operands[0], round(operands[0]), is_equality=True), is_value=True)
        elif opcode == "round" and math.isfinite(operands[0]):
            self._note(relative_margin(operands[0], math.floor(operands[0]) + 0.5), is_value=True)

    def _note(self, margin: float, is_value: bool = False) -> None:
        self.pending = min(self.pending, margin)
        if is_value:
            self.margin = min(self.margin, margin)

    # ---- decisions

    def decide(self, condition: StagedBool) -> bool:
        known = self._answers.get(id(condition))
        if known is not None:
            return known[1]
        natural = bool(condition.operand)
        location = self._machine.location()
        answer = self._decide(location, natural) if len(self.decisions) < self._fuel else None
        if answer is None:
            raise _RunEnds
        self.decisions.append(EagerDecision(location, answer, natural, self.pending))
        self.pending = math.inf
        # The same value cannot be decided twice, nor both ways.
        self._answers[id(condition)] = (condition, answer)
        return answer

    known_decision = decide

    def peek(self, condition: StagedBool) -> bool:
        return bool(condition.operand)

    def learn(self, condition: StagedBool, answer: bool) -> None:
        """Nothing to learn: every value is known."""

    def raising_shows(self) -> bool:
        return self._machine.in_try()

    def check(self, condition: StagedBool, exception: type[Exception], text: str) -> None:
        holds = self.decide(condition) if self.raising_shows() else bool(condition.operand)
        if not holds:
            raise exception(text)

    def require_staged_value(self, condition: Any, exception: type[Exception], text: str) -> None:
        if isinstance(condition, StagedBool):
            self.check(condition, exception, text)
        elif not condition:
            raise exception(text)

    # ---- numbers

    def int_symbol(self, operand: int, is_data: bool, origins: frozenset[Origin]) -> Any:
        return operand

    def float_symbol(self, operand: float) -> Any:
        return operand

    def known_int(self, value: StagedInt) -> None:
        """Run-time numbers are never constants: which one it is, is a decision."""

    def constant(self, value: StagedNumber | StagedStr, what: str) -> Any:
        return value.operand

    def need_constant(self, origins: frozenset[Origin], what: str) -> NoReturn:
        raise Unsupported("TC121", f"a constant is needed ({what})")

    def box(self, number: Any) -> Any:
        return number

    # ---- tensors

    def read(self, tensor: torch.Tensor) -> Any:
        """``tensor.item()``, staged. Reading a tensor twice gives the same value."""
        if tensor.is_complex():
            raise Unsupported("TC135", "reading a complex number out of a tensor")
        key = (id(tensor), tensor._version)
        if key not in self._items:
            kind = BOOL if tensor.dtype == torch.bool else FLOAT if tensor.is_floating_point() else INT
            self._items[key] = (tensor, wrap(tensor.item(), kind, True))
        self._note(margin_of(tensor), is_value=tensor.dtype != torch.bool)
        return self._items[key][1]

    def truth(self, tensor: torch.Tensor) -> Any:
        if tensor.numel() != 1:
            return bool(tensor)  # raises what PyTorch raises
        return to_bool(self.read(tensor))

    def fold(self, operand: Any, like: torch.Tensor) -> None:
        """Nothing is known at build time."""

    def value_of(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor

    def view_of(self, tensor: torch.Tensor) -> View:
        return View(Storage(tensor), tuple(tensor.shape))

    def new_tensor(self, shape: tuple[Any, ...], dtype: torch.dtype, operand: Any) -> Any:
        return operand


class _Driver:
    def at_join(self, machine: Machine, is_head: bool) -> None:
        """Every path is one run: nothing meets."""

    def at_decision(self, machine: Machine, condition: StagedBool) -> NoReturn:
        raise AssertionError("an eager run has an answer for every decision")

    def is_reachable(self, value: Any) -> NoReturn:
        raise AssertionError("an eager run has no host lists")


def run_eager(
    module: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    decide: Decide,
    fuel: int = 100_000,
    host_calls: HostCalls | None = None,
) -> EagerRun:
    """Calls ``module`` in the machine.

    decide: chooses the answers. fuel: the run ends, incomplete, at the first decision beyond this number.
    host_calls: learns what functions give that are called as they are.
    Raises ``NotFollowed`` for what the machine does not run.
    """
    machine = Machine(_Driver())
    recorder = EagerRecorder(machine, decide, fuel)
    machine.recorder = recorder  # type: ignore[assignment]
    machine.calls.host_calls.known = host_calls or HostCalls()
    push_context(recorder)
    try:
        with torch.no_grad(), Margins(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine.call(polyfills.root, (module, tuple(args), dict(kwargs)), {}, PUSH)
            _run(machine)
    except _RunEnds:
        return EagerRun(None, None, False, tuple(recorder.decisions), recorder.margin, is_complete=False)
    except Finished as finished:
        stated = finished.exception is not None and finished.exception.__traceback__ is None
        if finished.exception is not None:
            finished.exception.args = plain(finished.exception.args)
        result = plain(finished.result)
        margin = min(recorder.margin, recorder.pending)
        return EagerRun(result, finished.exception, stated, tuple(recorder.decisions), margin)
    finally:
        pop_context()
    raise AssertionError("the machine stopped without a result")


def _run(machine: Machine) -> None:
    try:
        machine.run()
    except Unsupported as signal:
        raise NotFollowed(signal, machine.location()) from None


def plain(value: Any) -> Any:
    """``value`` with the numbers themselves in place of staged values; containers that hold any are copied."""
    if isinstance(value, Staged):
        return value.operand
    if isinstance(value, HostList):
        raise AssertionError("an eager run has no host lists")
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(plain, value))
    if type(value) in (list, tuple, set):
        return type(value)(map(plain, value))
    if type(value) is dict:
        return {k: plain(v) for k, v in value.items()}
    for name, content in vars(value).items() if _has_staged_attribute(value) else ():
        object.__setattr__(value, name, plain(content))
    return value


def _has_staged_attribute(value: Any) -> bool:
    shared = isinstance(value, (type, torch.Tensor, torch.nn.Module)) or callable(value)
    return not shared and hasattr(value, "__dict__") and any(isinstance(v, Staged) for v in vars(value).values())
