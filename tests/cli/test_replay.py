"""Comparing results: structure and kinds exactly, floating-point numbers within tolerance."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toolchain
import toolchain.replay
from runtime_py.recordings import load_recording
from toolchain.replay import leaves, replay, same


class Pair(NamedTuple):
    first: object
    second: object


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
arrays = st.lists(st.floats(width=32), max_size=4).map(lambda v: np.array(v, np.float32))
results = st.recursive(
    scalars | arrays,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=8,
)

# A busy machine is no failure.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@patient
@given(results)
def test_everything_is_the_same_as_its_copy(result: object) -> None:
    assert same(result, copy.deepcopy(result))


@patient
@given(results)
def test_nothing_is_the_same_as_a_tuple_around_it(result: object) -> None:
    assert not same(result, (result,))


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (1.0, 1.0 + 1e-6, True),
        (1.0, 1.1, False),
        (1, 1.0, False),
        (1, True, False),
        ([], (), False),
        ([[]], [], False),
        ({"a": 1}, {"b": 1}, False),
        (None, None, True),
        (None, 0, False),
        ("a", "b", False),
        (np.float32([1, np.nan]), np.float32([1, np.nan]), True),
        (np.float32([40, 0.01]), np.float32([40, 0.0101]), True),
        (np.float32([1, 0.01]), np.float32([1, 0.0101]), False),
        (np.float32([np.inf, 0.01]), np.float32([np.inf, 0.0101]), False),
        (np.float32([1]), np.float64([1]), False),
        (np.zeros((1, 2)), np.zeros((2, 1)), False),
        (np.array([1, 2]), np.array([1, 3]), False),
        (np.float16([60000]), np.float16([-60000]), False),
        (np.array([1, 2], ml_dtypes.bfloat16), np.array([1, 2], ml_dtypes.bfloat16), True),
        (np.array([1, 2], ml_dtypes.bfloat16), np.array([1, 3], ml_dtypes.bfloat16), False),
        (Pair(1, 2), (1, 2), False),
    ],
)
def test_same(a: object, b: object, equal: bool) -> None:
    assert same(a, b) is equal
    assert same(b, a) is equal


def test_places_read_like_python() -> None:
    found = dict(leaves({"out": [Pair(1, "x")]}))
    assert found == {
        "<dict>": 1,
        "['out']<list>": 1,
        "['out'][0]<Pair>": 2,
        "['out'][0].first": 1,
        "['out'][0].second": "x",
    }


def counted(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x * 2


def test_arguments_are_compared_after_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = toolchain.build(counted, (torch.zeros(2),), out=tmp_path / "net.bundle").path
    assert [outcome.matches for outcome in replay(bundle)] == [True]

    def other_arguments(*where: object) -> object:
        calls = load_recording(*where)  # type: ignore[arg-type]
        return [dataclasses.replace(call, after=((np.float32([1, 2]),), {})) for call in calls]

    monkeypatch.setattr(toolchain.replay, "load_recording", other_arguments)
    assert [outcome.matches for outcome in replay(bundle)] == [False]
