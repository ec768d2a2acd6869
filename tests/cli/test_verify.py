"""``verify``: the verdict as JSON and text, and the exit code that goes with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolchain import Example, Infeasible, Verdict
from toolchain.cli.main import main

GOOD = Verdict(
    ok=True, inputs=5, edges=4, edges_covered=3, paths_equal=True, max_abs_error=1e-6, min_margin=0.25, excluded=1,
    infeasible=(Infeasible("forward: 3 -> 4", "both sides are equal"),),
)  # fmt: skip
MODEL = """
def model(): return len
def example_inputs(): return ([1],)
def random_inputs(n, seed): return [([seed],)] * n
"""

Judge = Callable[[Verdict], list[dict[str, Any]]]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "verified_model.py"
    path.write_text(MODEL)
    return str(path)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Makes verification return a verdict; the list gets the arguments of each call."""

    def judge(verdict: Verdict) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def verify_bundle(bundle: Path, module: object, examples: object, **options: Any) -> Verdict:
            calls.append({"bundle": bundle, "module": module, "examples": examples, **options})
            return verdict

        monkeypatch.setitem(sys.modules, "toolchain.verification", SimpleNamespace(verify_bundle=verify_bundle))
        return calls

    return judge


def test_the_promised_keys(judge: Judge, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    judge(GOOD)
    assert main(["verify", "net.bundle", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "ok": True,
        "inputs": 5,
        "edges": 4,
        "edges_covered": 3,
        "paths_equal": True,
        "max_abs_error": 1e-6,
        "min_margin": 0.25,
        "excluded": 1,
        "infeasible": [{"edge": "forward: 3 -> 4", "reason": "both sides are equal"}],
        "differences": [],
    }


def test_a_disagreement_exits_with_4(judge: Judge, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    bad = replace(GOOD, ok=False, paths_equal=False, max_abs_error=float("nan"), differences=("input 3: y differs",))
    judge(bad)
    assert main(["verify", "net.bundle", model]) == 4
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["verdict", "DIFFERENT"]
    assert lines[-1].split(maxsplit=1) == ["difference", "input 3: y differs"]
    assert main(["verify", "net.bundle", model, "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["max_abs_error"] == "nan"


def test_options_reach_the_verification(judge: Judge, model: str, capsys: pytest.CaptureFixture[str]) -> None:
    calls = judge(GOOD)
    assert main(["verify", "net.bundle", model, "--random", "7", "--no-forced-paths", "--target", "cpu"]) == 0
    (call,) = calls
    assert call.pop("random_inputs")(1, 2) == [([2],)]
    call.pop("progress")("verifying: random inputs", 0, 7)
    assert capsys.readouterr().err == "verifying: random inputs (7)\n"
    assert call.pop("host_calls").functions == {}
    assert call == {
        "bundle": Path("net.bundle"),
        "module": len,
        "examples": (Example(([1],)),),
        "random": 7,
        "forced_paths": False,
        "target": "cpu",
    }
