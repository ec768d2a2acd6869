from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.lowering.kernels.rewriting_testing import check, random, targets
from tests.lowering.support import Case
from toolchain.lowering.kernels import shift_depthwise


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("padding", "dilation"), [(0, 1), ((1, 2), 1), (2, 2)])
def test_becomes_shifted_products(stride: int, padding: int | tuple[int, int], dilation: int) -> None:
    def function(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, w, b, stride, padding, dilation, groups=4)

    case = Case(function, (random(2, 4, 9, 8),), (random(4, 1, 3, 2, seed=1), random(4, seed=2)))
    assert "convolution" not in targets(check(shift_depthwise, case))


def test_without_bias() -> None:
    case = Case(lambda x, w: F.conv2d(x, w, groups=4), (random(1, 4, 5, 5),), (random(4, 1, 3, 3, seed=1),))
    assert targets(check(shift_depthwise, case)).count("mul") == 9


@pytest.mark.parametrize(
    "case",
    [
        Case(lambda x, w: F.conv2d(x, w, groups=4), (random(1, 4, 5, 5), random(4, 1, 3, 3))),
        Case(lambda x, w: F.conv2d(x, w, groups=4), (random(1, 4, 5, 5),), (random(8, 1, 3, 3),)),
        Case(lambda x, w: F.conv2d(x, w, groups=2), (random(1, 4, 5, 5),), (random(4, 2, 3, 3),)),
        Case(lambda x, w: F.conv1d(x, w, groups=4), (random(1, 4, 5),), (random(4, 1, 3),)),
    ],
    ids=["no constant weight", "several results per channel", "grouped", "one dimension"],
)
def test_left_alone(case: Case) -> None:
    assert "convolution" in targets(check(shift_depthwise, case))
