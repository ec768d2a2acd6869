"""All rewritings together, compiled: a network of every kind of convolution."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from tests.lowering import support
from tests.lowering.kernels.rewriting_testing import random
from tests.lowering.support import Case, record
from toolchain.lowering import Target, compile_subgraphs
from toolchain.lowering.kernels import rewrite

WEIGHTS = (
    *(random(8, 3, 3, 3), random(8, seed=1), random(8, seed=2).abs() + 0.5),
    *(random(8, 1, 3, 3, seed=3) / 3, random(16, 8, 1, 1, seed=4) / 3, random(16, 16, 3, 3, seed=5) / 12),
    random(10, 16, 3, 3, seed=6) / 12,
)


def network(
    x: torch.Tensor, stem: torch.Tensor, mean: torch.Tensor, var: torch.Tensor, *weights: torch.Tensor
) -> object:
    depthwise, pointwise, square, strided = weights
    x = F.relu(F.batch_norm(F.conv2d(x, stem, padding=1), mean, var))
    x = F.relu(F.conv2d(F.relu(F.conv2d(x, depthwise, padding=1, groups=8)), pointwise))
    x = F.relu(F.conv2d(x, square, padding=1) + x)
    return x, F.conv2d(x, strided, stride=2, padding=1)


@pytest.mark.slow
def test_agrees_with_eager(cpu: Target, cache_dir: Path) -> None:
    case = Case(network, (random(1, 3, 9, 8, seed=7),), WEIGHTS)
    plain = record("sub0", case)
    fast = replace(rewrite(plain), name="sub1")
    compiled = compile_subgraphs([plain, fast], [cpu], cache_dir=cache_dir)
    assert compiled.unfused == ()
    for name in ("sub0", "sub1"):
        support.check(case, compiled.modules[name, "cpu"])
