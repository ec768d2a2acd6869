"""The C++ header library on its own: GoogleTest under sanitizers, and both compilers at their strictest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cpp.native import ROOT, WARNINGS, build, run


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_library_tests_pass_under_sanitizers(library_build: Path) -> None:
    done = run([library_build / "library_tests"])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_library_compiles_strictly_with_clang(tmp_path: Path) -> None:
    build(ROOT, tmp_path, WARNINGS, compiler="clang++", target="strict")
