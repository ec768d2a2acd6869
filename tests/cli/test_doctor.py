"""``doctor``: every unmet requirement has a code and a remedy, and the exit code is 5."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest

from toolchain import environment
from toolchain.cli.main import main

NAMES = [
    "Python",
    "torch",
    "torch-mlir",
    "iree-compile",
    "iree-base-runtime",
    "IREE pairing",
    "processor",
    "cache",
    "Vulkan device",
    "CUDA device",
    "ptxas",
]


def doctor(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, object]]]:
    code = main(["doctor", "--json", *arguments])
    shown = json.loads(capsys.readouterr().out)
    assert shown["ok"] is (code == 0)
    return code, shown["checks"]


def test_this_environment_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, checks = doctor(capsys, "--cache-dir", str(tmp_path))
    assert code == 0
    assert [check["name"] for check in checks] == NAMES
    assert {(check["ok"], check["code"], check["remedy"]) for check in checks} == {(True, "", "")}


def test_a_missing_compiler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, checks = doctor(capsys, "--cache-dir", str(tmp_path), "--iree-compile", str(tmp_path / "none"))
    assert code == 5
    assert [(c["name"], c["code"]) for c in checks if not c["ok"]] == [
        ("iree-compile", "TC401"),
        ("IREE pairing", "TC424"),
    ]


def test_a_compiler_of_another_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiler = tmp_path / "iree-compile"
    compiler.write_text("#!/bin/sh\necho IREE compiler version 3.11.0 @ 0123\n")
    compiler.chmod(0o755)
    code, checks = doctor(capsys, "--cache-dir", str(tmp_path), "--iree-compile", str(compiler))
    assert code == 5
    (unmet,) = [check for check in checks if not check["ok"]]
    runtime = importlib.metadata.version("iree-base-runtime")
    assert (unmet["code"], unmet["found"]) == ("TC424", f"compiler 3.11.0, runtime {runtime}")


def test_a_cache_folder_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file"
    path.touch()
    code, checks = doctor(capsys, "--cache-dir", str(path))
    assert code == 5
    assert [(c["name"], c["code"]) for c in checks if not c["ok"]] == [("cache", "TC212")]


def test_the_text_names_the_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--cache-dir", str(tmp_path), "--iree-compile", str(tmp_path / "none")]) == 5
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["requirement", "found"]
    assert len(lines) == 1 + len(NAMES) + 2
    assert lines[-2].startswith("iree-compile: install iree-base-compiler")


def test_a_package_that_does_not_load() -> None:
    check = environment._package("no-such-package", "no_such_package", "TC422")
    assert (check.ok, check.code, check.remedy) == (False, "TC422", environment.REINSTALL)


@pytest.mark.parametrize(
    ("implementation", "version", "ok"),
    [("cpython", (3, 11), True), ("cpython", (3, 12), False), ("pypy", (3, 11), False)],
)
def test_the_python_version(implementation: str, version: tuple[int, int], ok: bool) -> None:
    assert environment._python(implementation, version).ok is ok
