"""A program with assertions. Not in a test module: pytest rewrites the assertions of those."""

from __future__ import annotations

from torch import Tensor


def bounded(x: Tensor) -> Tensor:
    assert x.sum() > -2, f"too small: {x[0].item():.2f}"
    assert x[0] > -1
    return x
