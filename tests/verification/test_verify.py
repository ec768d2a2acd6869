"""Verdicts on right and on wrong bundles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

import toolchain
from tests.verification.conftest import Build, examples, model
from tests.verification.models import Near
from toolchain import Verdict


def verify(path: Path, name: str, random: int = 10, forced_paths: bool = True, seed: int = 0) -> Verdict:
    return toolchain.verify(path, model(name, seed), examples(name), random, forced_paths)


@pytest.mark.parametrize(
    ("name", "infeasible"),
    [("Gate", 0), ("Rare", 0), ("Loop", 0), ("Counter", 0), ("Sized", 1), ("Strict", 0), ("Lookup", 0), ("Cached", 0)],
)
def test_a_right_bundle_is_found_equal(bundle: Build, name: str, infeasible: int) -> None:
    verdict = verify(bundle(name), name)
    assert verdict.differences == ()
    assert verdict.ok
    assert verdict.paths_equal
    assert verdict.inputs == len(examples(name)) + 10
    assert len(verdict.infeasible) == infeasible
    assert verdict.edges_covered == verdict.edges - infeasible > 0
    assert verdict.max_abs_error < 1e-5
    assert verdict.excluded == 0


def test_forced_runs_take_what_inputs_do_not(bundle: Build) -> None:
    free = verify(bundle("Rare"), "Rare", forced_paths=False)
    assert (free.ok, free.edges_covered, free.infeasible) == (True, 1, ())
    forced = verify(bundle("Rare"), "Rare")
    assert (forced.ok, forced.edges_covered, forced.infeasible) == (True, 4, ())


def test_edges_that_sizes_rule_out_are_listed(bundle: Build) -> None:
    verdict = verify(bundle("Sized"), "Sized")
    assert verdict.edges_covered == 3
    (edge,) = verdict.infeasible
    assert edge.edge.startswith("entry0: block 0 (models.py:")
    assert edge.edge.endswith(" true")
    assert edge.reason == "depends on sizes or counts alone: no tried input took it"
    assert verdict.min_margin is None


def test_a_bundle_of_other_weights_is_caught(bundle: Build) -> None:
    verdict = verify(bundle("Gate"), "Gate", random=0, forced_paths=False, seed=1)
    assert not verdict.ok
    assert verdict.max_abs_error > 1e-3
    assert verdict.differences[0].startswith("example 0: the result differs in ")


def test_a_changed_weight_is_caught_on_forced_paths(bundle: Build) -> None:
    """The examples only show the sum; the other way is only taken by force."""
    changed = model("Rare")
    with torch.no_grad():
        changed.layer.bias.copy_(changed.layer.bias.flip(0))
    verdict = toolchain.verify(bundle("Rare"), changed, examples("Rare"), 0)
    assert not verdict.ok
    assert any(line.startswith("forced path to entry0: block ") for line in verdict.differences)


def test_another_path_is_caught(bundle: Build) -> None:
    """Results are the same on both ways; only the path tells."""
    verdict = toolchain.verify(bundle("Near"), Near(2.0).eval(), examples("Near"), 0, False)
    assert not verdict.ok
    assert not verdict.paths_equal
    assert verdict.differences == ("example 1: the bundle decides another way than eager Python",)


def inputs_near_the_threshold(near: int, n: int) -> list[tuple[torch.Tensor]]:
    return [(torch.tensor([1.0 + 5e-7 if i < near else 3.0]),) for i in range(n)]


@pytest.mark.parametrize(("near", "ok"), [(0, True), (2, True), (3, False)])
def test_near_decisions_excuse_random_inputs(bundle: Build, near: int, ok: bool) -> None:
    module = Near(1.000001).eval()
    verdict = toolchain.verify(
        bundle("Near"), module, examples("Near"), 40, False,
        random_inputs=lambda n, seed: inputs_near_the_threshold(near, n),
    )  # fmt: skip
    assert verdict.excluded == near
    assert verdict.ok is ok
    assert verdict.paths_equal
    assert verdict.inputs == 42
    if near:
        assert verdict.min_margin == pytest.approx(5e-7, rel=0.3)


def test_no_decision_excuses_an_example(bundle: Build) -> None:
    module = Near(1.000001).eval()
    verdict = toolchain.verify(bundle("Near"), module, inputs_near_the_threshold(1, 1), 0, False)
    assert (verdict.ok, verdict.paths_equal, verdict.excluded) == (False, False, 0)


def test_state_is_carried_and_compared(bundle: Build) -> None:
    changed = model("Counter")
    changed.total += 1  # another state after loading: the third example then takes the other way
    verdict = toolchain.verify(bundle("Counter"), changed, examples("Counter"), 0, False)
    assert not verdict.ok
    assert any("the state total differs" in line for line in verdict.differences)


def test_exceptions_compare_by_type_and_text(bundle: Build) -> None:
    class Other(type(model("Strict"))):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            try:
                return super().forward(x)  # type: ignore[no-any-return]
            except ValueError as error:
                raise KeyError(*error.args) from error

    verdict = toolchain.verify(bundle("Strict"), Other().eval(), examples("Strict"), 0, False)
    assert not verdict.ok
    assert verdict.differences[0] == (
        "example 1: eager raises KeyError: 'the sum -1.500 is negative', "
        "the bundle raises ValueError: the sum -1.500 is negative"
    )


def test_changed_arguments_are_compared(bundle: Build) -> None:
    class Other(type(model("Strict"))):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x.clone())  # type: ignore[no-any-return]

    verdict = toolchain.verify(bundle("Strict"), Other().eval(), examples("Strict"), 0, False)
    assert [line for line in verdict.differences if "arguments" in line] == [
        "example 0: the arguments after the call[0][0] differs in 2 of 2 elements: 1 in eager, 2 in the bundle"
    ]


def test_progress_is_told(bundle: Build) -> None:
    from toolchain.verification import verify_bundle

    told: list[str] = []

    def progress(stage: str, done: int, total: int) -> None:
        assert done < total
        told.append(stage)

    calls: Sequence[toolchain.Example] = examples("Rare")
    verify_bundle(
        bundle("Rare"), model("Rare"), calls, random=2, forced_paths=True, target=None, random_inputs=None,
        progress=progress,
    )  # fmt: skip
    assert list(dict.fromkeys(told)) == ["verifying: examples", "verifying: random inputs", "verifying: forced paths"]
