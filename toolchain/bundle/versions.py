"""Which versions made a bundle."""

from __future__ import annotations

import importlib.metadata
import tomllib
from pathlib import Path

from runtime_py.format import Versions

_DISTRIBUTION = "dynn-toolchain"


def installed_versions(iree: str | None = None) -> Versions:
    """Versions of the installed packages; ``iree`` overrides the compiler's when another one was used."""
    version = importlib.metadata.version
    return Versions(_own_version(), version("torch"), version("torch-mlir"), iree or version("iree-base-compiler"))


def _own_version() -> str:
    try:
        return importlib.metadata.version(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        # Run from a checkout that is not installed.
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
        return str(project["version"])
