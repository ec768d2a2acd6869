from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.lowering.kernels.rewriting_testing import check, random, targets
from tests.lowering.support import Case
from toolchain.lowering.kernels import convolve_by_winograd

WEIGHT = random(9, 8, 3, 3, seed=1) / 8


@pytest.mark.parametrize("size", [(4, 4), (7, 6), (3, 5)])
@pytest.mark.parametrize("padding", [0, 1, (0, 2)])
def test_becomes_products_of_tiles(size: tuple[int, int], padding: int | tuple[int, int]) -> None:
    case = Case(lambda x, w, b: F.conv2d(x, w, b, padding=padding), (random(2, 8, *size),), (WEIGHT, random(9, seed=2)))
    found = targets(check(convolve_by_winograd, case))
    assert found.count("bmm") == 1
    assert "convolution" not in found


def test_double_precision_is_kept() -> None:
    case = Case(F.conv2d, (random(1, 8, 5, 5, dtype=torch.float64),), (WEIGHT.double(),))
    assert "bmm" in targets(check(convolve_by_winograd, case))


@pytest.mark.parametrize(
    "case",
    [
        Case(F.conv2d, (random(1, 8, 5, 5), WEIGHT)),
        Case(lambda x, w: F.conv2d(x, w, stride=2), (random(1, 8, 5, 5),), (WEIGHT,)),
        Case(lambda x, w: F.conv2d(x, w, dilation=2), (random(1, 8, 5, 5),), (WEIGHT,)),
        Case(lambda x, w: F.conv2d(x, w, groups=2), (random(1, 16, 5, 5),), (random(8, 8, 3, 3),)),
        Case(F.conv2d, (random(1, 3, 5, 5),), (random(8, 3, 3, 3),)),
        Case(F.conv2d, (random(1, 8, 5, 5),), (random(8, 8, 3, 1),)),
    ],
    ids=["no constant weight", "stride", "dilation", "grouped", "few channels", "another kernel"],
)
def test_left_alone(case: Case) -> None:
    assert "convolution" in targets(check(convolve_by_winograd, case))
