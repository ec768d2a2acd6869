"""Samples built for this machine: they give the results of eager, have the right sizes, and loop as long as asked."""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import runtime_py
import toolchain
from toolchain.inspection import Inspection, inspect_bundle
from toolchain.replay import replay

Build = Callable[[str], Path]

QUICK = ("deep_equilibrium", "seq2seq_greedy", "branchynet")
SLOW = ("big_little", "deebert", "moe_hit", "nms", "neural_ode", "blockdrop110")
BUILT = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds a sample with all of its inputs, once."""
    folder = tmp_path_factory.mktemp("samples")

    def build(name: str) -> Path:
        path = folder / f"{name}.bundle"
        if not path.exists():
            sample = importlib.import_module(f"samples.{name}")
            toolchain.build(sample.model(), [sample.example_inputs(), *sample.inputs()], out=path)
        return path

    return build


@pytest.mark.parametrize("name", BUILT)
def test_a_bundle_gives_the_results_of_eager(name: str, bundle: Build) -> None:
    outcomes = replay(bundle(name))
    assert outcomes
    assert [outcome.matches for outcome in outcomes] == [True] * len(outcomes)


def sizes(inspection: Inspection) -> tuple[int, int, int]:
    return inspection.executables, inspection.loops, inspection.decisions


@pytest.mark.parametrize(
    ("name", "executables", "loops", "decisions"),
    [("deep_equilibrium", 3, 1, 3), ("seq2seq_greedy", 3, 1, 2), ("branchynet", 3, 0, 2)],
)
def test_sizes(name: str, executables: int, loops: int, decisions: int, bundle: Build) -> None:
    assert sizes(inspect_bundle(bundle(name))) == (executables, loops, decisions)


@pytest.mark.slow
def test_blockdrop_is_small(bundle: Build) -> None:
    """54 gated blocks share a handful of executables and make a short host program."""
    inspection = inspect_bundle(bundle("blockdrop110"))
    assert inspection.executables <= 12
    assert inspection.host_lines <= 200
    assert (inspection.loops, inspection.decisions) == (0, 54)


def test_a_loop_turns_more_often_than_in_any_example(tmp_path: Path) -> None:
    """The solver counts its steps: large inputs take few, and with these alone it is built."""
    sample = importlib.import_module("samples.deep_equilibrium")
    net = sample.model()
    few, *many = (100 * sample.draw(0)[0],), *(call for call in sample.inputs() if steps(net, *call) >= 20)
    assert steps(net, *few) == 2
    assert len(many) == 3
    path = tmp_path / "few.bundle"
    toolchain.build(net, few, out=path)
    with runtime_py.load(path) as session, torch.no_grad():
        for call in many:
            (logits, count), (expected, trips) = session(*call), net(*call)
            assert count == trips
            torch.testing.assert_close(logits, expected, rtol=1e-3, atol=1e-4)


def steps(net: torch.nn.Module, x: torch.Tensor) -> int:
    with torch.no_grad():
        count: int = net(x)[1]
    return count
