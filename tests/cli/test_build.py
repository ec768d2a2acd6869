"""From a model file to a bundle that runs, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import runtime_py
from toolchain.cli.main import main

MODEL = """
import torch

def net(x):
    if x.sum() > 0:
        return {"y": torch.relu(x), "positive": True}
    print("negative")
    return {"y": -x, "positive": False}

def model():
    return net

def example_inputs():
    return (torch.tensor([1.0, 2.0, 3.0, 4.0]),)

def inputs():
    yield (torch.tensor([-1.0, -2.0, -3.0, -4.0]),)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the model file, and the bundle once ``built`` has run."""
    folder = tmp_path_factory.mktemp("build")
    (folder / "branching_model.py").write_text(MODEL)
    return folder


@pytest.fixture(scope="module")
def bundle(folder: Path) -> Path:
    out = folder / "net.bundle"
    model, cache = str(folder / "branching_model.py"), str(folder / "cache")
    assert main(["build", model, "-o", str(out), "--cache-dir", cache, "--debug"]) == 0
    return out


def test_build_json_has_the_promised_keys(bundle: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, out, cache = (str(folder / name) for name in ("branching_model.py", "again.bundle", "cache"))
    assert main(["build", model, "-o", out, "--cache-dir", cache, "--json"]) == 0
    captured = capsys.readouterr()
    shown = json.loads(captured.out)
    assert shown.pop("seconds") > 0
    assert shown == {
        "bundle": out,
        "cache_hits": shown["executables"],
        "cache_misses": 0,
        "targets": ["cpu:host"],
        "hosts": ["python"],
        "executables": shown["executables"],
        "tests": 2,
    }
    assert captured.err.splitlines()[0] == "exploring"


def test_an_existing_bundle_is_replaced(bundle: Path, folder: Path) -> None:
    out = str(folder / "replaced.bundle")
    model, cache = str(folder / "branching_model.py"), str(folder / "cache")
    for _ in range(2):
        assert main(["build", model, "-o", out, "--cache-dir", cache]) == 0
    assert runtime_py.load(out)(np.float32([1, 2, 3, 4]))["positive"] is True


def test_inspect_counts_the_decision(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(bundle), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["decisions"], shown["loops"]) == (1, 0)
    assert shown["host_lines"] > 0


def test_inspect_prints_the_stored_graph(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(bundle), "--dot"]) == 0
    assert capsys.readouterr().out.startswith("digraph")


def test_run_replays_the_recorded_calls(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(bundle)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "call 0: as recorded",
        "  result['y']: float32[4] 1 2 3 4",
        "  result['positive']: True",
        "call 1: as recorded",
        "  prints negative",
        "  result['y']: float32[4] 1 2 3 4",
        "  result['positive']: False",
    ]


def test_run_takes_arrays_from_files(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.float32([5, -6, 7, 8]))
    assert main(["run", str(bundle), "--input", str(tmp_path / "x.npy"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "calls": [
            {
                "outputs": [
                    {"place": "['y']", "dtype": "float32", "shape": [4], "head": [5.0, 0.0, 7.0, 8.0]},
                    {"place": "['positive']", "value": True},
                ],
                "exception": None,
                "printed": "",
                "matches": None,
            }
        ]
    }


def test_run_refuses_what_does_not_fit(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.float32([5, 6]))
    assert main(["run", str(bundle), "--input", str(tmp_path / "x.npy"), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "RT203"
    assert main(["run", str(bundle), "--input", str(tmp_path / "none.npy"), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "TC227"


def test_explain_names_the_decision(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(folder / "branching_model.py"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["ok"], shown["problems"]) == (True, [])
    decisions = [(cut["line"], cut["function"]) for cut in shown["cuts"] if cut["kind"] == "decision"]
    assert decisions == [(5, "net")]
