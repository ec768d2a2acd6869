from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock

from tests.cpp.native import ROOT, SANITIZERS, WARNINGS, build


@pytest.fixture(scope="session")
def library_build() -> Path:
    """Where the tests of the header library are, built with sanitizers; kept between runs, since that takes a while."""
    folder = ROOT / "build" / "cpp-library"
    folder.parent.mkdir(exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        build(ROOT, folder, f"{WARNINGS} {SANITIZERS}", build_type="None")
    return folder / "tests" / "cpp" / "library"


@pytest.fixture(scope="session")
def hostops_driver(library_build: Path) -> Path:
    return library_build / "hostops_driver"
