"""Is everything here that a build and a run need? One function per requirement; each says what to do when unmet."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from toolchain.diagnostics import ToolEnvironmentError

REINSTALL = "run `make` in a checkout, or `pip install -c constraints.txt .`"


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement.

    found:  what is there, e.g. a version.
    code:   of the error that an unmet requirement raises.
    remedy: what to do; empty when ``ok``.
    """

    name: str
    ok: bool
    found: str
    code: str
    remedy: str = ""


def check_environment(cache_dir: Path) -> tuple[Check, ...]:
    """All requirements, met or not. Imports torch, torch-mlir and IREE to see that they load."""
    return (
        _python(),
        _package("torch", "torch", "TC422"),
        _package("torch-mlir", "torch_mlir", "TC423"),
        _package("iree-base-compiler", "iree.compiler", "TC424"),
        _package("iree-base-runtime", "iree.runtime", "TC424"),
        _pairing(),
        _cache(cache_dir),
        _cpu(),
    )


def require(checks: tuple[Check, ...]) -> None:
    """Raises ``ToolEnvironmentError`` with the code of the first unmet requirement, naming them all."""
    unmet = [check for check in checks if not check.ok]
    if unmet:
        message = "; ".join(f"{check.name}: {check.found}" for check in unmet)
        raise ToolEnvironmentError(unmet[0].code, message, "; ".join(dict.fromkeys(c.remedy for c in unmet)))


def _python() -> Check:
    """The front end interprets the bytecode of one CPython version."""
    found = f"{platform.python_implementation()} {platform.python_version()}"
    ok = sys.version_info[:2] == (3, 11) and sys.implementation.name == "cpython"
    return _check("Python", ok, found, "TC421", "use CPython 3.11")


def _package(distribution: str, module: str, code: str) -> Check:
    try:
        version = importlib.metadata.version(distribution)
        importlib.import_module(module)
    except ImportError as error:
        return _check(distribution, False, str(error), code, REINSTALL)
    return _check(distribution, True, version, code, REINSTALL)


def _pairing() -> Check:
    """Modules carry a bytecode and an ABI version, so compiler and runtime must be of one release."""
    try:
        versions = [importlib.metadata.version(f"iree-base-{part}") for part in ("compiler", "runtime")]
    except importlib.metadata.PackageNotFoundError as error:
        return _check("IREE pairing", False, str(error), "TC424", REINSTALL)
    ok = len({tuple(version.split(".")[:2]) for version in versions}) == 1
    remedy = "install iree-base-compiler and iree-base-runtime of the same release"
    return _check("IREE pairing", ok, f"compiler {versions[0]}, runtime {versions[1]}", "TC424", remedy)


def _cache(cache_dir: Path) -> Check:
    remedy = "make the folder writable, or choose another with --cache-dir"
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache_dir):
            return _check("cache", True, str(cache_dir), "TC425", remedy)
    except OSError as error:
        return _check("cache", False, str(error), "TC425", remedy)


def _cpu() -> Check:
    found = f"{platform.machine()}, {os.cpu_count()} CPUs"
    ok = platform.system() == "Linux" and platform.machine() in ("x86_64", "aarch64")
    return _check("machine", ok, f"{platform.system()} {found}", "TC426", "build on Linux, x86-64 or aarch64")


def _check(name: str, ok: bool, found: str, code: str, remedy: str) -> Check:
    return Check(name, ok, found, code, "" if ok else remedy)
