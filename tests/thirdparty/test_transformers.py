"""Unmodified models of the transformers package, decoded greedily: compiled, they produce eager's tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import runtime_py
import toolchain
from tests.thirdparty import loops
from toolchain.inspection import inspect_bundle

# How many tokens the ten inputs of the test make; and how many edges no run can take: errors that no input causes, and
# what the lengths of the inputs rule out.
CASES = [
    ("gpt2", {0, 4, 5, 8, 10, 12}, 5),
    ("t5", {1, 12}, 12),
    ("whisper", {1, 6, 7, 12}, 2),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "lengths", "infeasible"), CASES)
def test_tokens_and_paths_are_those_of_eager(name: str, lengths: set[int], infeasible: int, tmp_path: Path) -> None:
    """On the examples, and on inputs of other lengths with other numbers of tokens."""
    model, examples, bundle = loops.model(name), loops.inputs(name, seed=0), tmp_path / "loop.bundle"
    toolchain.build(model, examples, out=bundle)
    assert inspect_bundle(bundle).loops == 1
    with runtime_py.load(bundle) as session, torch.no_grad():
        calls = loops.inputs(name, seed=1, count=10)
        expected = [model(*call) for call in calls]
        assert [session(*call) for call in calls] == expected
    assert {len(tokens) for tokens in expected} == lengths
    verdict = toolchain.verify(bundle, model, [toolchain.Example(call) for call in examples], random=1)
    assert (verdict.ok, verdict.paths_equal, verdict.differences) == (True, True, ())
    assert verdict.edges == verdict.edges_covered + infeasible
