"""Runs a program in all worlds and says what became of it."""

from __future__ import annotations

import contextlib
import logging
import signal
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, Literal

import torch
from torch.utils._pytree import tree_map

import toolchain
from tests.conformance import runners
from tests.fuzz.worlds import Eager, Followed, Graph, Observation, World, load
from tests.fuzz.worlds import Path as Decisions
from toolchain.diagnostics import UnsupportedModelError
from toolchain.frontend import Call, explore
from toolchain.frontend import Dynamic as Marker
from toolchain.frontend.eager import NotFollowed
from toolchain.frontend.explorer import Explorer
from toolchain.ir import Program
from toolchain.ir.verifier import verify
from toolchain.options import Example
from toolchain.passes import PIPELINE
from toolchain.recording import replace_markers
from toolchain.replay import same
from toolchain.verification.natural import MARGIN

BUDGET = 800
_ILL_DEFINED = ("NameError", "UnboundLocalError", "AttributeError", "NotImplementedError", "RecursionError")
Kind = Literal["right", "refused", "discarded", "failed"]


@dataclass(frozen=True)
class Verdict:
    """What became of a program.

    detail: the codes of a refusal, why it is discarded, or what went wrong. place: tells failures of one cause from
    those of another, as far as that is possible; the same for a smaller program with the same defect.
    """

    kind: Kind
    detail: str = ""
    place: str = ""


class OutOfTime(KeyboardInterrupt):
    """The front end lets this one through. (What it takes for an exception of the program, it would raise there.)"""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises ``OutOfTime`` in the main thread when it has used that much time of the processor."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def check(source: str) -> Verdict:
    """Compares eager PyTorch with the machine on real tensors, the explored program, and it after every single pass."""
    logging.getLogger("torch").setLevel(logging.CRITICAL)  # failed operations on fake tensors are part of the game
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _verdict(source)


def _verdict(source: str) -> Verdict:
    try:
        examples = examples_of(source)
        eager = observe(Eager(source, ()), examples)
    except OutOfTime:
        return Verdict("discarded", "endless")
    except Exception as error:
        return Verdict("discarded", f"not a program: {type(error).__name__}")
    reason = next((r for o in eager if (r := _ill_defined(o))), "")
    if reason:
        return Verdict("discarded", reason)
    try:
        return _check(source, examples)
    except OutOfTime:
        return Verdict("failed", f"out of time\n{traceback.format_exc()}", "hang")
    except UnsupportedModelError as refusal:
        return Verdict("refused", ",".join(sorted({p.code for p in refusal.problems})))
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} in {frame.filename.rsplit('/', 1)[-1]}:{frame.name}"
        return Verdict("failed", traceback.format_exc(), place)


def _ill_defined(observation: Observation) -> str:
    return observation.exception[0] if observation.exception and observation.exception[0] in _ILL_DEFINED else ""


def _check(source: str, examples: Sequence[Example]) -> Verdict:
    raw = explored(source, examples)
    verify(raw)
    names = tuple(
        {s.name for state in raw.states for s in state.slots} | {n for t in raw.states for n, _ in t.literals}
    )
    eager = observe(Eager(source, names), examples)
    graph = observe(Graph(raw), examples)
    found = compare("explored", eager, graph) or _follow(source, names, examples, eager, graph)
    if found is not None:
        return found
    cut = any(o.is_cut for o in graph)
    program = raw
    for number, change in enumerate(PIPELINE):
        changed = change(program)
        verify(changed)
        if changed != program:
            found = compare(f"{number} {change.__name__}", eager, observe(Graph(changed), examples), graph)
            if found is not None:
                return found
        program = changed
    return Verdict("right", "cut short" if cut else "")


def examples_of(source: str) -> list[Example]:
    return [Example(tuple(args)) for args in load(source).calls()]


def explored(source: str, examples: Sequence[Example]) -> Program:
    calls = [Call(*replace_markers(example, lambda marker: Marker(marker.value))) for example in examples]
    return explore(load(source).program(), calls, budget=BUDGET)


def observe(world: World, examples: Sequence[Example]) -> list[Observation]:
    """The calls in order, up to the one that the world does not finish."""
    found: list[Observation] = []
    for example in examples:
        found.append(world.call(example))
        if found[-1].is_cut:
            break
    return found


def compare(
    name: str, eager: Sequence[Observation], other: Sequence[Observation], reference: Sequence[Observation] = ()
) -> Verdict | None:
    """A failure if the world ``name`` differs from eager, or takes another path than ``reference``."""
    for number, (mine, others) in enumerate(zip(eager, other, strict=False)):
        if others.is_cut:
            return None
        text = mine.difference(others)
        if not text and reference and [d[1] for d in others.path or ()] != [d[1] for d in reference[number].path or ()]:
            text = "path: another one"
        if text:
            return Verdict("failed", f"call {number} of {name}: {text}", f"{name}: {text.split(':')[0]}")
    return None


def _follow(
    source: str, names: Sequence[str], examples: Sequence[Example], eager: list[Observation], graph: list[Observation]
) -> Verdict | None:
    """The machine on real tensors does what Python does, and decides what the graph decides."""
    followed = Followed(source, names)
    for number, (example, mine, other) in enumerate(zip(examples, eager, graph, strict=False)):
        try:
            seen = followed.call(example)
        except NotFollowed as error:
            return Verdict("failed", f"call {number} cannot be followed: {error}", f"followed: {error.code}")
        if other.is_cut:
            return None
        if text := mine.difference(seen):
            return Verdict("failed", f"call {number} of followed: {text}", f"followed: {text.split(':')[0]}")
        if text := _other_path(seen.path or [], other.path or []):
            if followed.margin < MARGIN:
                return Verdict("discarded", "near")
            return Verdict("failed", f"call {number}: {text}", "explored: path")
    return None


def _other_path(eager: Decisions, graph: Decisions) -> str:
    """How the graph decided otherwise, at the places where it decided as often.

    Where states have met, more is a value of run time in the graph than in one run of the machine.
    """
    for place in {place for place, _ in eager}:
        mine, others = ([a for p, a in path if p == place] for path in (eager, graph))
        if len(mine) == len(others) and mine != others:
            return f"{place} went {mine} in eager, {others} in the graph"
    return ""


def check_unmerged(source: str, seed: int) -> Verdict:
    """Compares the program explored as ever with the one whose paths never meet, on its calls and on random ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        examples = examples_of(source)
        examples += [_varied(example, Random(seed + n)) for n in range(3) for example in examples]
        try:
            merged = Graph(explored(source, examples))
            single = Graph(_unmerged(source, examples))
        except UnsupportedModelError as refusal:
            return Verdict("refused", ",".join(sorted({p.code for p in refusal.problems})))
        return compare("unmerged", observe(merged, examples), observe(single, examples)) or Verdict("right")


def _unmerged(source: str, examples: Sequence[Example]) -> Program:
    Explorer.merges = False
    try:
        return explored(source, examples)
    finally:
        Explorer.merges = True


def _varied(example: Example, random: Random) -> Example:
    """The same call with other numbers in its tensors."""

    def other(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        numbers = [random.randint(-20, 20) for _ in range(leaf.numel())]
        return torch.tensor(numbers).reshape(leaf.shape) / 8 if leaf.is_floating_point() else leaf.roll(1) - 1

    return Example(tree_map(other, example.args))


def check_bundle(source: str, folder: Path, hosts: Sequence[str] = ("python",)) -> Verdict:
    """Compares eager PyTorch with the compiled program, on every host."""
    examples, bundle = examples_of(source), folder / "generated.bundle"
    options = toolchain.BuildOptions(debug=True)
    try:
        toolchain.build(load(source).program(), examples, ("cpu",), hosts, bundle, options=options)
    except UnsupportedModelError as refusal:
        return Verdict("refused", ",".join(sorted({p.code for p in refusal.problems})))
    program = load(source).program()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager = [runners.observe(program, example) for example in examples]
    for host in hosts:
        for number, (mine, seen) in enumerate(
            zip(eager, runners.RUNNERS[host].run(bundle, "cpu", examples), strict=True)
        ):
            found = (seen.result, seen.printed, (seen.exception or ("",))[0])
            if not same(found, (mine.result, mine.printed, (mine.exception or ("",))[0])):
                near = any(margin < MARGIN for margin in _margins(source, examples))
                text = f"call {number}: {mine} in eager, {seen} on the {host} host"
                return Verdict("discarded", "near") if near else Verdict("failed", text, f"{host} host")
    return Verdict("right")


def _margins(source: str, examples: Sequence[Example]) -> list[float]:
    followed = Followed(source, ())
    return [followed.margin for example in examples if followed.call(example)]
