"""Unmodified models of the transformers package, decoded greedily: compiled, they produce eager's tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import runtime_py
import toolchain
from tests.thirdparty import loops
from toolchain.inspection import inspect_bundle

Build = Callable[[str], Path]

# How many tokens the ten inputs of the test make: none, where the first is the last.
LENGTHS = [
    ("gpt2", {0, 4, 5, 8, 10, 12}),
    ("t5", {1, 12}),
    ("bart", {0, 6, 8, 12}),
    ("whisper", {1, 6, 7, 12}),
]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Build]:
    """Builds a decoding loop, once."""
    folder = tmp_path_factory.mktemp("thirdparty")

    def build(name: str) -> Path:
        path = folder / f"{name}.bundle"
        if not path.exists():
            toolchain.build(loops.model(name), loops.inputs(name, seed=0), out=path)
        return path

    yield build


@pytest.mark.slow
@pytest.mark.parametrize(("name", "lengths"), LENGTHS)
def test_tokens_are_those_of_eager(name: str, lengths: set[int], bundle: Build) -> None:
    """On inputs that are no examples, of other lengths, with other numbers of tokens."""
    model = loops.model(name)
    with runtime_py.load(bundle(name)) as session, torch.no_grad():
        calls: list[tuple[Any, ...]] = loops.inputs(name, seed=1, count=10)
        expected = [model(*call) for call in calls]
        assert [session(*call) for call in calls] == expected
    assert {len(tokens) for tokens in expected} == lengths


@pytest.mark.slow
@pytest.mark.parametrize("name", loops.NAMES)
def test_a_step_is_one_turn_of_one_loop(name: str, bundle: Build) -> None:
    assert inspect_bundle(bundle(name)).loops == 1
