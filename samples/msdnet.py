"""Multi-scale dense network: each block refines features at three scales, then a classifier says whether to stop.

Huang, Chen, Li, Wu, van der Maaten, Weinberger: Multi-Scale Dense Networks for Resource Efficient Image Classification
(ICLR 2018). Dynamic: how many blocks run; the list of logits returned is as long as that.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import he_init

SIZE, CLASSES, GROWTH, SCALES, BLOCKS = 32, 10, 8, 3, 4
# Confidences at which the first three blocks stop: on 60 random images about a quarter leaves at each.
THRESHOLDS = (0.28, 0.265, 0.155)
SEEDS = (1, 25, 4, 0)


def conv(inside: int, outside: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(inplace=True)
    )


class DenseBlock(nn.Module):
    """Adds to every scale features made from itself and from the next finer scale."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.same = nn.ModuleList(conv(channels, GROWTH, 1) for _ in range(SCALES))
        self.down = nn.ModuleList(conv(channels, GROWTH, 2) for _ in range(SCALES - 1))

    def forward(self, xs: list[torch.Tensor]) -> list[torch.Tensor]:
        ys = [torch.cat([xs[0], self.same[0](xs[0])], dim=1)]
        for s in range(1, SCALES):
            new = self.same[s](xs[s]) + self.down[s - 1](xs[s - 1])
            ys.append(torch.cat([xs[s], new], dim=1))
        return ys


class MSDNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.ModuleList([conv(3, 16, 1), conv(16, 16, 2), conv(16, 16, 2)])
        widths = [16 + GROWTH * b for b in range(BLOCKS + 1)]
        self.blocks = nn.ModuleList(DenseBlock(width) for width in widths[:-1])
        self.classifiers = nn.ModuleList(
            nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * width, CLASSES)) for width in widths[1:]
        )

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Image (1x3x32x32) to the logits (1x10) of every classifier that was asked."""
        xs = []
        for conv in self.stem:
            x = conv(x)
            xs.append(x)
        logits = []
        for k, (block, classifier) in enumerate(zip(self.blocks, self.classifiers, strict=True)):
            xs = block(xs)
            logits.append(classifier(xs[-1]))
            if k < len(THRESHOLDS) and F.softmax(logits[-1], dim=1).max().item() >= THRESHOLDS[k]:
                break
        return logits


def model() -> nn.Module:
    torch.manual_seed(0)
    return he_init(MSDNet()).eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
