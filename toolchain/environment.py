"""Is everything here that a build and a run need? One function per requirement; each says what to do when unmet."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from toolchain.diagnostics import ToolchainError, ToolEnvironmentError
from toolchain.lowering.cache import Cache
from toolchain.lowering.iree import find_compiler
from toolchain.lowering.targets import parse_target

REINSTALL = "install this package again, with the versions of constraints.txt"


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement.

    found:  what is there, e.g. a version, or what is wrong.
    code:   of the error, when unmet.
    remedy: what to do, when unmet.
    """

    name: str
    ok: bool
    found: str
    code: str = ""
    remedy: str = ""


def check_environment(cache_dir: Path | None = None, compiler: Path | None = None) -> tuple[Check, ...]:
    """All requirements, met or not. Imports torch, torch-mlir and IREE to see that they load.

    cache_dir, compiler: as in ``BuildOptions``.
    """
    # IREE's runtime finds devices; importing it here keeps other verbs quick.
    from toolchain.availability import optional_parts

    return (
        _python(sys.implementation.name, sys.version_info[:2]),
        _package("torch", "torch", "TC422"),
        _package("torch-mlir", "torch_mlir.fx", "TC423"),
        _compiler(compiler),
        _package("iree-base-runtime", "iree.runtime", "TC424"),
        _pairing(compiler),
        _processor(),
        _cache(cache_dir),
        # These only some targets need: without them, nothing is wrong with the machine.
        *(Check(name, True, found) for name, found in optional_parts().items()),
    )


def _python(implementation: str, version: tuple[int, ...]) -> Check:
    """The front end interprets the bytecode of one CPython version."""
    found = f"{implementation} {platform.python_version()}"
    if (implementation, version) == ("cpython", (3, 11)):
        return Check("Python", True, found)
    return Check("Python", False, found, "TC421", "use CPython 3.11")


def _package(distribution: str, module: str, code: str) -> Check:
    try:
        importlib.import_module(module)
        return Check(distribution, True, importlib.metadata.version(distribution))
    except ImportError as error:
        return Check(distribution, False, str(error), code, REINSTALL)


def _compiler(path: Path | None) -> Check:
    try:
        return Check("iree-compile", True, version_number(find_compiler(path).version))
    except ToolEnvironmentError as error:
        return _unmet("iree-compile", error)


def _pairing(path: Path | None) -> Check:
    """Modules carry a bytecode and an ABI version, so compiler and runtime must be of one release."""
    try:
        compiler = version_number(find_compiler(path).version)
        runtime = importlib.metadata.version("iree-base-runtime")
    except ToolEnvironmentError as error:
        return Check("IREE pairing", False, f"unknown: {error.message}", "TC424", REINSTALL)
    except ImportError as error:
        return Check("IREE pairing", False, f"unknown: {error}", "TC424", REINSTALL)
    found = f"compiler {compiler}, runtime {runtime}"
    if compiler.split(".")[:2] == runtime.split(".")[:2]:
        return Check("IREE pairing", True, found)
    remedy = "install compiler and runtime of one release, or run the bundles on a device whose runtime matches"
    return Check("IREE pairing", False, found, "TC424", remedy)


def version_number(text: str) -> str:
    """The first version number in what a compiler prints about itself."""
    found = re.search(r"\d+\.\d+\S*", text)
    return found.group() if found else text


def _processor() -> Check:
    try:
        return Check("processor", True, parse_target("cpu").identity.partition(" ")[0])
    except ToolEnvironmentError as error:
        return _unmet("processor", error)


def _cache(directory: Path | None) -> Check:
    try:
        cache = Cache(directory)
        with cache.scratch() as scratch, tempfile.TemporaryFile(dir=scratch):
            return Check("cache", True, str(cache.directory))
    except ToolchainError as error:
        return _unmet("cache", error)
    except OSError as error:
        return Check("cache", False, str(error), "TC212", "make the folder writable, or set TOOLCHAIN_CACHE_DIR")


def _unmet(name: str, error: ToolchainError) -> Check:
    return Check(name, False, error.message, error.code, error.hint)
