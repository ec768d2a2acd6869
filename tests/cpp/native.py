"""Builds generated C++ against the stand-in for IREE's runtime, and runs it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A project that builds the programs of many bundles quickly.
PROGRAMS = ROOT / "tests/cpp/programs"
# The compiler and the runtime that the stand-in needs, made by `make test`.
ENVIRONMENT = ROOT / ".venv-iree39"
IREE_COMPILE = ENVIRONMENT / "bin/iree-compile"
PACKAGE = Path(__file__).parent / "standin/lib/cmake/IREE"
WARNINGS = "-Wall -Wextra -Werror"
SANITIZERS = "-O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"


def build(
    source: Path,
    folder: Path,
    flags: str = WARNINGS,
    compiler: str = "g++",
    build_type: str = "Release",
    target: str = "all",
    **settings: str,
) -> None:
    """Configures and builds the CMake project ``source`` in ``folder``. Fails with what the tools have said.

    settings: the project's own variables.
    """
    configure = (
        *("cmake", "-S", source, "-B", folder, "-G", "Ninja"),
        *(f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_BUILD_TYPE={build_type}", f"-DCMAKE_CXX_FLAGS={flags}"),
        *(f"-DIREERuntime_DIR={PACKAGE}", f"-DIREE_STANDIN_PYTHON={ENVIRONMENT / 'bin/python'}"),
        *(f"-D{name}={value}" for name, value in settings.items()),
    )
    for command in (configure, ("cmake", "--build", folder, "--target", target, "--", "-k", "0")):
        done = run(command)
        # Compilers explain an error at great length, among what went well.
        said = [s[:300] for s in (done.stdout + done.stderr).splitlines() if "inlined from" not in s and s[:1] != "["]
        assert done.returncode == 0, "\n".join(said)


def run(command: Sequence[object], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"}
    words = list(map(str, command))
    return subprocess.run(words, capture_output=True, text=True, env=environment, cwd=cwd, timeout=900)
