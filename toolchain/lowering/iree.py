"""MLIR text -> VMFB, by running iree-compile as a process: a crash or a hang of the compiler stays outside."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from toolchain.diagnostics import LoweringError, ToolEnvironmentError
from toolchain.ir import Subgraph
from toolchain.lowering.targets import Target
from toolchain.lowering.tuning import tuning_flags

TIME_LIMIT_S = 600.0

# The names under which hosts find the function and the weights of every module.
ENTRY = "main"
PARAMETER_SCOPE = "model"

# Without the second flag, double precision inputs become single precision ones and every call of the module fails.
COMMON_FLAGS = ("--iree-input-type=torch", "--iree-input-demote-f64-to-f32=false")


@dataclass(frozen=True, slots=True)
class MlirModule:
    """text: the module. locations: for each line of it, ``file:line`` of the user's program, or an empty string."""

    text: str
    locations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compiler:
    """path: the iree-compile program. version: what it prints about itself; part of the cache key."""

    path: Path
    version: str


def find_compiler(path: Path | None = None) -> Compiler:
    """The compiler at ``path``, by default the one installed beside this Python.

    Raises ToolEnvironmentError TC401 if there is none or it does not run.
    """
    return _identify((path or _installed()).resolve())


def _installed() -> Path:
    try:
        from iree.compiler.tools import binaries
    except ImportError as error:
        raise ToolEnvironmentError(
            "TC401",
            f"the IREE compiler is not installed: {error}",
            "install iree-base-compiler, or name an iree-compile",
        ) from error
    # The program itself, not the Python script of that name, which costs a start of Python for each module.
    return Path(binaries.find_tool("iree-compile"))


@functools.cache
def _identify(path: Path) -> Compiler:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolEnvironmentError(
            "TC401", f"{path} does not run: {error}", "install iree-base-compiler, or name another iree-compile"
        ) from error
    return Compiler(path, " ".join(done.stdout.split()))


def compile_flags(subgraph: Subgraph, target: Target) -> tuple[str, ...]:
    """Everything that iree-compile is told, file names aside."""
    return (*COMMON_FLAGS, *target.compile_flags, *tuning_flags(subgraph, target))


def compile_module(
    module: MlirModule, flags: Sequence[str], output: Path, compiler: Compiler, time_limit: float = TIME_LIMIT_S
) -> None:
    """Writes the VMFB of ``module`` to ``output``; ``flags`` are those of ``compile_flags``.

    Raises LoweringError: TC303 the compiler refuses the module, TC304 it exceeds the time limit, TC305 it crashes.
    """
    command = [str(compiler.path), "-", *flags, "-o", str(output)]
    try:
        done = subprocess.run(command, input=module.text, capture_output=True, text=True, timeout=time_limit)
    except subprocess.TimeoutExpired as error:
        raise LoweringError(
            "TC304", f"iree-compile did not finish within {time_limit:g} s", "make the subgraph smaller"
        ) from error
    if done.returncode < 0:
        raise LoweringError(
            "TC305", f"iree-compile died of signal {-done.returncode}: {_essence(done.stderr, module)}", _HINT
        )
    if done.returncode:
        raise LoweringError("TC303", f"iree-compile refuses the subgraph: {_essence(done.stderr, module)}", _HINT)


_HINT = "this is a limit of the compiler: write the line with other operations, or keep it out of the compiled part"


def _essence(stderr: str, module: MlirModule) -> str:
    """The first error line, led by the user's location where it names a line of the module."""
    pattern = r"(?m)^(?:<stdin>|-):(\d+):\d+: error: (.*)$"
    if (match := re.search(pattern, stderr)) is None:
        lines = [line for line in stderr.splitlines() if line.strip()]
        errors = [line for line in lines if re.search(r"error|assert|unreachable", line, re.IGNORECASE)]
        return (errors or lines or ["no message"])[0].strip()[:500]
    number, message = int(match.group(1)), match.group(2)
    location = module.locations[number - 1] if number <= len(module.locations) else ""
    return f"{location + ': ' if location else ''}{message[:500]}"
