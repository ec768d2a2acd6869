"""The command line: exit codes, JSON, and what may not be imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from toolchain import LoweringError, Problem, UnsupportedModelError
from toolchain.cli.main import cli, main
from toolchain.cli.output import show_error, table

VERBS = ["build", "cache", "doctor", "explain", "inspect", "run", "targets", "verify"]


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object]]:
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_verbs() -> None:
    assert sorted(cli.commands) == VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_json(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("build",), ("targets", "--nonsense"), ("verify", "x", "y", "--random", "-1"), ("build", "no.py")],
)
def test_usage_errors_exit_with_2_in_text_and_json(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().out == ""
    code, error = run_json(capsys, *arguments)
    assert code == 2
    assert error["code"] in ("TC200", "TC220")
    assert error["problems"] == []


def test_no_verb_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Usage: toolchain" in capsys.readouterr().err


def test_problems_are_json_with_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    error = UnsupportedModelError([Problem("TC100", "net.py", 3, "bad", "do that"), Problem("TC101", "net.py", 9, "x")])
    assert show_error(error, as_json=True) == 3
    shown = json.loads(capsys.readouterr().out)
    assert shown["code"] == "TC100"
    assert shown["problems"] == [
        {"code": "TC100", "file": "net.py", "line": 3, "message": "bad", "hint": "do that"},
        {"code": "TC101", "file": "net.py", "line": 9, "message": "x", "hint": ""},
    ]


def test_errors_as_text_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_error(LoweringError("TC300", "it broke", "mend it"), as_json=False) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "error: [TC300] it broke\n  hint: mend it\n"


def test_an_unexpected_error_shows_its_traceback_and_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_error(KeyError("lost"), as_json=True) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"code": None, "message": "KeyError: 'lost'", "problems": []}
    assert captured.err.rstrip().endswith("KeyError: 'lost'")


def test_an_interrupt_is_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise click.Abort

    monkeypatch.setattr(cli, "main", interrupted)
    assert main(["targets"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(
    ("arguments", "imported"),
    [
        ("--help", []),
        ("targets --json", ["iree", "numpy"]),
        ("cache --json --cache-dir {tmp}", []),
        ("inspect {tmp}", ["iree", "numpy"]),
        ("run {tmp}", ["iree", "numpy"]),
    ],
)
def test_light_verbs_do_not_import_torch(arguments: str, imported: list[str], tmp_path: Path) -> None:
    script = (
        "import sys; from toolchain.cli.main import main; main(sys.argv[1:]);"
        "print(sorted({'torch', 'torch_mlir', 'iree', 'numpy'} & sys.modules.keys()), file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, *arguments.format(tmp=tmp_path).split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == str(imported)


def test_targets_lists_names_and_meanings(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = run_json(capsys, "targets")
    assert code == 0
    targets = {target["name"]: target["description"] for target in shown["targets"]}  # type: ignore[attr-defined,index]
    assert {"cpu", "cpu:host", "cpu:generic", "cpu:x86-64-v3"} <= targets.keys()


def test_cache_shows_and_clears(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = {"directory": str(tmp_path), "entries": 0, "bytes": 0, "removed": 0}
    assert run_json(capsys, "cache", "--cache-dir", str(tmp_path)) == (0, empty)
    assert run_json(capsys, "cache", "--cache-dir", str(tmp_path), "--clear") == (0, empty)
    assert main(["cache", "--clear", "--prune", "0"]) == 2


def test_the_version() -> None:
    assert main(["--version"]) == 0


def test_a_table_is_aligned_and_has_no_trailing_blanks() -> None:
    assert table(("a", "b"), [("long", 1), ("x", "")]) == "a     b\nlong  1\nx"
