"""The worlds that a generated program runs in, and what its calls do there, in a form that can be compared."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import types
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from runtime_py.signature import select_entry
from tests.soundness.harness import frozen, same
from toolchain.bundle.describe import describe_entry
from toolchain.frontend.eager import EagerDecision, run_eager
from toolchain.ir import Branch, Program
from toolchain.ir.interpreter import Interpreter, Outcome
from toolchain.options import Example
from toolchain.recording import call_arguments
from toolchain.replay import builtin_base
from toolchain.verification.worlds import Native

FILE = "generated.py"
FUEL = 20_000
# PyTorch's texts name extents and values in their own way; the type of such an exception is all that must agree.
_PYTORCH = re.compile(r"tensor|dimension|torch|expected|size|index -?\d+ is out|elements|\bdim\b|non-empty", re.I)
_serial = itertools.count()
Place = tuple[int, int, str]
"""Line, column and function of a decision."""
Path = list[tuple[Place, bool]]


def load(source: str) -> types.ModuleType:
    """``source`` as a new module, so that no world sees what another one changed."""
    module = types.ModuleType(f"generated{next(_serial)}")
    exec(compile(source, FILE, "exec"), vars(module))
    return module


@dataclass(frozen=True)
class Observation:
    """What one call did.

    exception: the type, and the text where Python or the program chose it.
    arguments: the tensors of the arguments after the call. state: attributes and buffers, by name.
    path:      the decisions on data; None where they cannot be told.
    is_cut:    the world says that it does not go on here ("that path is not compiled", an integer beyond 64 bits).
    """

    result: Any
    exception: tuple[str, str] | None
    arguments: Any
    state: dict[str, Any]
    printed: str
    path: Path | None = None
    is_cut: bool = False

    def difference(self, other: Observation) -> str:
        """What differs first, in words; empty if nothing does. ``self`` is eager's."""
        mine, others = self.exception or ("", ""), other.exception or ("", "")
        pairs = [("exception", mine[0], others[0])]
        pairs += [("text", mine[1], others[1])] if mine[1] else []
        pairs += [("printed", self.printed, other.printed), ("result", self.result, other.result)]
        pairs += [("arguments", self.arguments, other.arguments)]
        pairs += [(f"state of {n}", v, other.state[n]) for n, v in self.state.items() if n in other.state]
        return next((f"{what}: {a!r} in eager, {b!r} here" for what, a, b in pairs if not same(a, b)), "")


class World(Protocol):
    def call(self, example: Example) -> Observation:
        """Makes one call; what calls leave behind stays."""
        ...


class Eager:
    """Plain Python. names: of the state that is looked at."""

    def __init__(self, source: str, names: Sequence[str]) -> None:
        self.program = load(source).program()
        self.names = names

    def call(self, example: Example) -> Observation:
        args, kwargs = call_arguments(example)
        tensors = _tensors((args, kwargs))
        with torch.no_grad(), _printed() as printed:
            result, error = self._call(args, kwargs)
        state = {n: frozen(v) for n, v in Native.state(self._view()).items()}
        arguments = frozen(tuple(tensors))
        return Observation(frozen(result), _exception(error), arguments, state, printed.getvalue(), self._path())

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, BaseException | None]:
        try:
            return self.program(*args, **kwargs), None
        except Exception as error:
            return None, error

    def _path(self) -> Path | None:
        return None

    def _view(self) -> Native:
        """The state is read as ``toolchain.verify`` reads it."""
        view = Native(lambda: None, self.names)
        view.module = self.program
        return view


class Followed(Eager):
    """The front end's machine on real tensors. margin: of the latest call."""

    margin = float("inf")
    _decisions: tuple[EagerDecision, ...] = ()

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, BaseException | None]:
        run = run_eager(self.program, args, kwargs, lambda _, natural: natural)
        self._decisions = run.decisions
        self.margin = min([run.margin, *(d.margin for d in run.decisions)])
        return run.result, run.exception

    def _path(self) -> Path:
        return [((d.location.line, d.location.column, d.location.function), d.answer) for d in self._decisions]


class Graph:
    """The reference interpreter."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._interpreter = Interpreter(program)
        self._entries = tuple(map(describe_entry, program.entries))
        self._places = {
            (f.name, b.id): (at.line, at.column, at.function)
            for f in program.functions
            for b in f.blocks
            if isinstance(b.terminator, Branch) and b.terminator.kind == "data"
            if (at := b.terminator.location).file == FILE
        }

    def call(self, example: Example) -> Observation:
        match = select_entry(self._entries, *call_arguments(example))
        leaves = list(match.leaves)
        with _printed() as printed:
            outcome, is_cut = self._outcome(match.entry, leaves)
        for index, value in outcome.mutated:
            leaves[index] = value
        tensors = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
        result = None if outcome.result is None else frozen(outcome.result)
        path = [(self._places[d[:2]], d[2]) for d in outcome.decisions if d[:2] in self._places]
        exception = _exception(outcome.exception)
        return Observation(result, exception, frozen(tensors), self._state(), printed.getvalue(), path, is_cut)

    def _outcome(self, entry: int, leaves: list[Any]) -> tuple[Outcome, bool]:
        try:
            outcome = self._interpreter.call(entry, leaves, fuel=FUEL)
        except (RuntimeError, IndexError) as error:
            if not self.program.subgraphs:
                raise
            # An operation of a subgraph runs before the check that guards it is looked at.
            return Outcome(None, error, ()), True
        text = str(outcome.exception)
        return outcome, text.endswith("that path is not compiled") or "does not fit in 64 bits" in text

    def _state(self) -> dict[str, Any]:
        state = self.program.states[self._interpreter.state_index]
        slots = {s.name: frozen(v) for s, v in zip(state.slots, self._interpreter.state, strict=True)}
        return slots | {name: frozen(v) for name, v in state.literals}


@contextlib.contextmanager
def _printed() -> Any:
    text = io.StringIO()
    with contextlib.redirect_stdout(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield text


def _exception(error: BaseException | None) -> tuple[str, str] | None:
    if error is None:
        return None
    text = "" if _PYTORCH.search(str(error)) else str(error)
    return builtin_base(type(error)).__name__, text


def _tensors(value: Any) -> list[torch.Tensor]:
    """The tensors of arguments, in the order of an entry's inputs."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in _tensors(v)]
    contents = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    return [t for v in contents.values() for t in _tensors(v)]
