"""The project of docs/embedding-cpp.md is built and run as the page says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import toolchain
from tests.cpp.native import IREE_COMPILE, ROOT, WARNINGS, build, run
from toolchain.cli.modelfile import load_model_file

PROJECT = Path(__file__).parent / "embedding"


@pytest.mark.parametrize(("name", "language"), [("CMakeLists.txt", "cmake"), ("app.cpp", "cpp")])
def test_the_page_shows_the_project(name: str, language: str) -> None:
    text = (PROJECT / name).read_text()
    assert f"```{language}\n{text}```\n" in (ROOT / "docs/embedding-cpp.md").read_text()


def test_the_page_shows_the_model() -> None:
    text = (PROJECT / "early.py").read_text()
    assert f"```python\n# early.py\n{text}```\n" in (ROOT / "docs/embedding-cpp.md").read_text()


@pytest.mark.slow
def test_the_project_runs(tmp_path: Path) -> None:
    shutil.copytree(PROJECT, tmp_path, dirs_exist_ok=True)
    file = load_model_file(str(tmp_path / "early.py"))
    options = toolchain.BuildOptions(iree_compile=IREE_COMPILE)
    toolchain.build(file.module, file.examples, hosts=("cpp",), out=tmp_path / "early.bundle", options=options)
    build(tmp_path, tmp_path / "build", WARNINGS)
    done = run([tmp_path / "build/app"], cwd=tmp_path)
    logits, exit = file.module(*file.examples[0].args)
    assert done.stderr == ""
    *values, last = done.stdout.splitlines()
    assert [float(value) for value in values] == pytest.approx(logits[0].tolist(), abs=2e-3)
    assert last == f"exit {exit}"
