from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from tests.lowering.kernels.rewriting_testing import check, random, targets
from tests.lowering.support import Case
from toolchain.lowering.kernels import fold_batch_norm

IMAGE, WEIGHT, BIAS = random(2, 3, 6, 5), random(4, 3, 3, 3, seed=1), random(4, seed=2)
STATISTICS = (random(4, seed=3), random(4, seed=4).abs() + 0.1, random(4, seed=5), random(4, seed=6))
Function = Callable[..., object]


def test_convolution_takes_in_scale_and_shift() -> None:
    case = Case(lambda x, w, *norm: F.batch_norm(F.conv2d(x, w), *norm), (IMAGE,), (WEIGHT, *STATISTICS))
    assert "native_batch_norm" not in targets(check(fold_batch_norm, case))


def test_with_bias_stride_groups_and_no_affine_part() -> None:
    weight = random(4, 1, 3, 2, seed=1)

    def function(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> object:
        return F.relu(F.batch_norm(F.conv2d(x, w, b, stride=2, groups=4), mean, var, eps=1e-3))

    case = Case(function, (random(2, 4, 6, 5),), (weight, BIAS, *STATISTICS[:2]))
    assert "native_batch_norm" not in targets(check(fold_batch_norm, case))


def test_unknown_extents_are_no_hindrance() -> None:
    case = Case(
        lambda x, w, *norm: F.batch_norm(F.conv2d(x, w), *norm),
        (IMAGE,),
        (WEIGHT, *STATISTICS),
        dynamic=True,
        static=(1,),
        runs=((random(1, 3, 3, 9),),),
    )
    assert "native_batch_norm" not in targets(check(fold_batch_norm, case))


def _normal_and_plain(x: torch.Tensor, w: torch.Tensor, *norm: torch.Tensor) -> object:
    y = F.conv2d(x, w)
    return F.batch_norm(y, *norm), y


@pytest.mark.parametrize(
    "case",
    [
        Case(_normal_and_plain, (IMAGE,), (WEIGHT, *STATISTICS)),
        Case(lambda x, w, *norm: F.batch_norm(F.conv_transpose2d(x, w), *norm), (random(2, 4, 5, 5),),
             (random(4, 4, 3, 3), *STATISTICS)),
        Case(lambda x, *norm: F.batch_norm(F.relu(x), *norm), (random(2, 4, 6, 5),), STATISTICS),
        Case(lambda x, mean, var, w: F.batch_norm(F.conv2d(x, w), mean, var), (IMAGE, *STATISTICS[:2]), (WEIGHT,)),
    ],
    ids=["the unscaled result is used", "transposed", "no convolution", "statistics that change"],
)  # fmt: skip
def test_left_alone(case: Case) -> None:
    assert "native_batch_norm" in targets(check(fold_batch_norm, case))
