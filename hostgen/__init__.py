"""Host programs from partitioned control-flow graphs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from runtime_py.integrity import OpenBundle
from toolchain.diagnostics import UsageError
from toolchain.ir import Program

HOSTS = ("python", "cpp", "vm")


def generate(program: Program, host: str) -> Mapping[str, str]:
    """The files of one host program: relative POSIX path -> text.

    program: after ``toolchain.passes.run_pipeline``. host: one of ``HOSTS``.
    Raises ``UsageError`` TC223 for an unknown host; a host may raise a coded error for what it cannot express.
    """
    if host not in HOSTS:
        raise UsageError("TC223", f"unknown host {host!r}", f"choose from {', '.join(HOSTS)}")
    with _recursion_for(program):
        files: Mapping[str, str] = importlib.import_module(f"hostgen.{host}").generate(program)
    return files


def complete(program: Program, host: str, bundle: OpenBundle) -> Mapping[str, str]:
    """More files of the host program, which depend on the rest of the bundle; most hosts have none.

    bundle: all but its manifest file and these files are in place.
    """
    module = importlib.import_module(f"hostgen.{host}")
    if not hasattr(module, "complete"):
        return {}
    with _recursion_for(program):
        files: Mapping[str, str] = module.complete(program, bundle)
    return files


@contextmanager
def _recursion_for(program: Program) -> Iterator[None]:
    """Room for statements nested as deeply as there are blocks: an ``elif`` nests in the one before it."""
    before = sys.getrecursionlimit()
    blocks = max((len(f.blocks) for f in program.functions), default=0)
    sys.setrecursionlimit(max(before, 1000 + 20 * blocks))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


__all__ = ["HOSTS", "complete", "generate"]
