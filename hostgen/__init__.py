"""Host programs from partitioned control-flow graphs."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

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
    files: Mapping[str, str] = importlib.import_module(f"hostgen.{host}").generate(program)
    return files


__all__ = ["HOSTS", "generate"]
