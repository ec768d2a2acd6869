from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from tests.lowering.support import Case, check, record
from toolchain.lowering import Target, compile_subgraphs
from toolchain.lowering.tuning import CHANNELS_LAST, DATA_TILING, LARGE_WEIGHTS, tuning_flags

_X, _W = torch.ones(2, 3), torch.ones(4, 3)
_IMAGE = torch.ones(1, 4, 5, 5)


@pytest.mark.parametrize(
    ("case", "pays"),
    [
        (Case(F.linear, (_X,), (_W,)), True),
        (Case(lambda x, w: x @ (w * 2).t(), (_X,), (_W,)), True),
        (Case(lambda x, w: x @ w.t(), (_X, _W)), False),
        (Case(lambda x, w: x + w, (_X,), (_X,)), False),
        (Case(F.conv2d, (_IMAGE,), (torch.ones(2, 4, 1, 1),)), True),
        (Case(lambda x, w: F.conv2d(x, w, groups=4), (_IMAGE,), (torch.ones(4, 1, 3, 3),)), False),
    ],
)
def test_data_tiling_is_for_constant_weights(case: Case, pays: bool, cpu: Target) -> None:
    assert (DATA_TILING in tuning_flags(record("sub0", case), cpu)) is pays


def test_small_batched_products_are_not_tiled(cpu: Target) -> None:
    small, large = (Case(torch.bmm, (torch.ones(2, 4, n),), (torch.ones(2, n, n),)) for n in (16, 128))
    assert [DATA_TILING in tuning_flags(record("sub0", case), cpu) for case in (small, large)] == [False, True]


def test_channels_last_is_for_few_channels(cpu: Target) -> None:
    few, many = (Case(F.conv2d, (torch.ones(1, n, 5, 5),), (torch.ones(2, n, 3, 3),)) for n in (3, 8))
    assert [CHANNELS_LAST in tuning_flags(record("sub0", case), cpu) for case in (few, many)] == [True, False]


def test_large_weights_are_made_once(cpu: Target) -> None:
    made = Case(lambda x, w: torch.bmm(x, torch.stack([w, w + 1])), (torch.ones(2, 4, 3),), (torch.ones(3, 3),))
    viewed = Case(lambda x, w: x @ w.t(), (_X,), (_W,))
    assert [LARGE_WEIGHTS in tuning_flags(record("sub0", case), cpu) for case in (made, viewed)] == [True, False]


@pytest.mark.slow
def test_tiled_and_untiled_agree(cpu: Target, cache_dir: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    weights = tuple(torch.randn(dims, generator=generator) / 8 for dims in ((70, 65), (70,), (33, 70)))
    case = Case(lambda x, a, b, c: F.relu(x @ a.t() + b) @ c.t(), (torch.randn(5, 65, generator=generator),), weights)
    check(case, compile_subgraphs([record("sub0", case)], [cpu], cache_dir=cache_dir).modules["sub0", "cpu"])
