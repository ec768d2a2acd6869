"""Dtypes that GPUs treat apart, on Vulkan, at lengths that fill no whole number of 32-bit words: no tail is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import runtime_py
import toolchain

DTYPES = ("bool", "uint8", "int8", "int16", "int64", "float16", "float64")
LENGTHS = range(1, 10)


def sample(length: int, dtype: str) -> Tensor:
    kind = getattr(torch, dtype)
    return (torch.arange(length) * 7 % 5 % 2).bool() if kind == torch.bool else (torch.arange(length) + 1).to(kind)


class Narrow(nn.Module):
    """A narrow weight, argument and result, intermediates between kernels, slices at odd offsets, and predicates."""

    def __init__(self, dtype: str) -> None:
        super().__init__()
        self.register_buffer("weight", sample(5, dtype))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        mask = x != 0
        kept = torch.where(mask.flip(0), x, self.weight[:1])
        return kept, mask, mask.all(), torch.cat((kept, self.weight)), torch.cat((x, x[1:])), torch.zeros_like(x)


class Several(Narrow):
    def forward(self, *xs: Tensor) -> tuple[Tensor, ...]:
        return tuple(result for x in xs for result in super(Several, self).forward(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_unknown_lengths(dtype: str, vulkan: str, tmp_path: Path) -> None:
    model = Narrow(dtype).eval()
    examples = [(sample(3, dtype),), (sample(6, dtype),)]
    toolchain.build(model, examples, targets=("vulkan",), out=tmp_path / "net.bundle")
    session = runtime_py.load(tmp_path / "net.bundle", target=vulkan)
    for length in LENGTHS:
        compare(session(sample(length, dtype)), model(sample(length, dtype)))


@pytest.mark.parametrize("dtype", ["bool", "float16"])
def test_known_lengths(dtype: str, vulkan: str, tmp_path: Path) -> None:
    model = Several(dtype).eval()
    inputs = tuple(sample(length, dtype) for length in LENGTHS)
    toolchain.build(model, inputs, targets=("vulkan",), out=tmp_path / "net.bundle")
    compare(runtime_py.load(tmp_path / "net.bundle", target=vulkan)(*inputs), model(*inputs))


def compare(actual: tuple[Tensor, ...], expected: tuple[Tensor, ...]) -> None:
    for a, e in zip(actual, expected, strict=True):
        torch.testing.assert_close(a, e, rtol=0, atol=0)
