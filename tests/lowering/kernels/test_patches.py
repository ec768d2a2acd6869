from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from tests.lowering.kernels.rewriting_testing import check, random, targets
from tests.lowering.support import Case
from toolchain.lowering.kernels import multiply_patches


@pytest.mark.parametrize("stride", [1, (2, 3)])
@pytest.mark.parametrize("kernel", [(1, 1), (3, 3), (2, 5)])
@pytest.mark.parametrize(("padding", "dilation"), [(0, 1), (1, 2)])
def test_becomes_one_product(
    stride: int | tuple[int, int], kernel: tuple[int, int], padding: int, dilation: int
) -> None:
    def function(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, w, b, stride, padding, dilation)

    case = Case(function, (random(2, 8, 12, 11),), (random(5, 8, *kernel, seed=1) / 8, random(5, seed=2)))
    found = targets(check(multiply_patches, case))
    assert found.count("mm") == 1
    assert "convolution" not in found


@pytest.mark.parametrize(
    "case",
    [
        Case(F.conv2d, (random(1, 8, 5, 5), random(4, 8, 3, 3))),
        Case(F.conv2d, (random(1, 3, 5, 5),), (random(4, 3, 3, 3),)),
        Case(lambda x, w: F.conv2d(x, w, groups=2), (random(1, 16, 5, 5),), (random(4, 8, 3, 3),)),
        Case(F.conv_transpose2d, (random(1, 8, 5, 5),), (random(8, 4, 3, 3),)),
        Case(F.conv2d, (random(1, 8, 5, 5, dtype=torch.float16),), (random(4, 8, 1, 1, dtype=torch.float16),)),
        Case(F.conv2d, (random(1, 8, 5, 5),), (random(4, 8, 1, 1),), dynamic=True, static=(1,)),
    ],
    ids=["no constant weight", "few channels", "grouped", "transposed", "half precision", "unknown extents"],
)
def test_left_alone(case: Case) -> None:
    assert "convolution" in targets(check(multiply_patches, case))
