"""Times one sample: one call of every peer in turn, again and again, so that noise meets all alike."""

from __future__ import annotations

import contextlib
import logging
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import runtime_py
import toolchain
from benchmarks.peers import PEERS, Run, Skipped, time_limit
from toolchain.cli.modelfile import load_model_file
from toolchain.recording import call_arguments

SAMPLES = Path(__file__).parents[1] / "samples"
RTOL, ATOL = 1e-3, 1e-4
ROUNDS = range(5, 400)


@dataclass(frozen=True, slots=True)
class Limits:
    """paths: how many are measured. seconds: of measuring. compile_seconds: for the preparation of one peer."""

    paths: int
    seconds: float
    compile_seconds: float


@dataclass(frozen=True, slots=True)
class Timing:
    """ms: the median. ratio: eager's divided by it. right: whether all outputs, of all paths, are those of eager."""

    ms: float
    ratio: float
    right: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One path of a sample; us_ms is the median of our bundle, which is right or there is no row."""

    subject: str
    path: str
    threads: int
    us_ms: float
    peers: dict[str, Timing]


@dataclass(frozen=True, slots=True)
class Result:
    """rows: one for each path. skipped: peers that cannot run the sample, with the reason."""

    subject: str
    rows: tuple[Row, ...]
    skipped: dict[str, str] = field(default_factory=dict)


class WrongResultError(Exception):
    """Our own bundle disagrees with eager."""


def measure(sample: str, threads: int, bundles: Path, limits: Limits, peers: Collection[str] = PEERS) -> Result:
    """Raises ``toolchain.ToolchainError`` if the sample cannot be built, ``WrongResultError`` if it is wrong."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    warnings.simplefilter("ignore")
    logging.disable()  # exporters that fail log whole graphs
    file = load_model_file(str(SAMPLES / f"{sample}.py"))
    calls = [call_arguments(example)[0] for example in file.examples]
    with runtime_py.load(_built(sample, bundles, file)) as session:
        paths = _distinct_paths(session, calls)[: limits.paths]
        expected = [leaves(file.module(*call)) for call in paths]
        if not agrees(session, paths, expected):
            raise WrongResultError(sample)
        runs, skipped = _prepare({"eager", *peers}, file.module, paths, limits.compile_seconds)
        right = {name: agrees(run, paths, expected) for name, run in runs.items()}
        runs["us"] = session
        rows = tuple(
            _row(sample, str(i), threads, _medians(runs, call, limits.seconds / len(paths)), right)
            for i, call in enumerate(paths)
        )
    return Result(sample, rows, skipped)


def _built(sample: str, bundles: Path, file: Any) -> Path:
    path = bundles / f"{sample}.bundle"
    if not path.exists():
        bundles.mkdir(parents=True, exist_ok=True)
        toolchain.build(file.module, list(file.examples), out=path)
    return path


def _distinct_paths(session: runtime_py.Session, calls: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The first call of every path: calls that decide alike run alike."""
    seen: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for call in calls:
        with session.trace() as decisions:
            session(*call)
        seen.setdefault(tuple(decisions), call)
    return list(seen.values())


def _prepare(
    peers: Collection[str], module: Callable[..., Any], paths: Sequence[tuple[Any, ...]], seconds: float
) -> tuple[dict[str, Run], dict[str, str]]:
    """The peers that run, each called once with every path, and why the others do not."""
    runs, skipped = {}, {}
    for name in (name for name in PEERS if name in peers):
        try:
            # Without eager there is nothing to compare with.
            with contextlib.nullcontext() if name == "eager" else time_limit(seconds):
                run = PEERS[name](module, paths)
                for call in paths:
                    run(*call)
                runs[name] = run
        except Skipped as reason:
            skipped[name] = str(reason)
        except Exception as error:
            # Peers fail with whatever their libraries raise; the table says so.
            skipped[name] = f"{type(error).__name__}: {_first_line(error)}"
            print(f"  {name}: {skipped[name]}", file=sys.stderr)
    return runs, skipped


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")[:160]


def _medians(runs: Mapping[str, Run], call: tuple[Any, ...], seconds: float) -> dict[str, float]:
    """Milliseconds."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    end = time.perf_counter() + seconds
    for done in range(ROUNDS.stop):
        if done >= ROUNDS.start and time.perf_counter() > end:
            break
        for name, run in runs.items():
            start = time.perf_counter()
            run(*call)
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) * 1e3 for name, each in times.items()}


def _row(subject: str, path: str, threads: int, ms: Mapping[str, float], right: Mapping[str, bool]) -> Row:
    peers = {name: Timing(ms[name], ms["eager"] / ms[name], right[name]) for name in right}
    return Row(subject, path, threads, ms["us"], peers)


def agrees(run: Callable[..., Any], paths: Sequence[tuple[Any, ...]], expected: Sequence[list[torch.Tensor]]) -> bool:
    """Whether the outputs are those of eager, compared leaf by leaf."""
    return all(_same(leaves(run(*call)), wanted) for call, wanted in zip(paths, expected, strict=True))


def leaves(result: Any) -> list[torch.Tensor]:
    """Copies of all tensors and numbers in a result; what a peer calls a tuple or a list does not matter."""
    return [torch.as_tensor(leaf).clone() for leaf in torch.utils._pytree.tree_leaves(result) if leaf is not None]


def _same(mine: list[torch.Tensor], wanted: list[torch.Tensor]) -> bool:
    return len(mine) == len(wanted) and all(
        a.shape == b.shape and torch.allclose(a.double(), b.double(), RTOL, ATOL, equal_nan=True)
        for a, b in zip(mine, wanted, strict=True)
    )
