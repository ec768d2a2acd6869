"""What ``build`` and ``verify`` hand back. Importing this needs neither torch nor IREE."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolchain.diagnostics.report import Report

__all__ = ["Bundle", "Infeasible", "Report", "Verdict"]


@dataclass(frozen=True, slots=True)
class Bundle:
    """A finished bundle on disk.

    path:         its folder.
    seconds:      wall time of the whole build.
    cache_hits:   compilations answered by the cache; ``cache_misses`` ran the compiler.
    targets:      resolved target names, e.g. ``("cpu:host", "cuda:sm_80")``.
    hosts:        emitted host programs.
    executables:  distinct compiled modules per target.
    tests:        recorded calls stored in the bundle.
    """

    path: Path
    seconds: float
    cache_hits: int
    cache_misses: int
    targets: tuple[str, ...]
    hosts: tuple[str, ...]
    executables: int
    tests: int

    def __fspath__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class Infeasible:
    """An edge of the control-flow graph that no run took, and why none can."""

    edge: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a bundle compares with eager PyTorch.

    ok:             outputs and paths agree on every input that was not excluded, and every feasible edge was covered.
    inputs:         calls compared, given and random ones.
    edges:          edges of the control-flow graph; ``edges_covered`` were taken in both worlds, freely or forced.
    paths_equal:    every compared call took the same decisions in both worlds.
    max_abs_error:  largest absolute difference of a floating-point output.
    min_margin:     how near the closest decision came to flipping; None when no decision compares floats.
    excluded:       random inputs left out because a decision lay within tolerance of flipping.
    infeasible:     edges that no run can take.
    differences:    one line for each call or forced path that disagrees.
    """

    ok: bool
    inputs: int
    edges: int
    edges_covered: int
    paths_equal: bool
    max_abs_error: float
    min_margin: float | None
    excluded: int = 0
    infeasible: tuple[Infeasible, ...] = ()
    differences: tuple[str, ...] = ()
