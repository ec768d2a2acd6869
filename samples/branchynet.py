"""BranchyNet: side branches of a convolutional network that answer when their entropy is low.

Teerapittayanon, McDanel, Kung: BranchyNet: Fast Inference via Early Exiting from Deep Neural Networks (ICPR 2016).
Dynamic: which of the three exits answers.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import he_init

SIZE, CLASSES = 32, 10
# Entropies (nats) below which the first two exits answer: on 60 random images about a third leaves at each.
THRESHOLDS = (1.95, 2.1)
SEEDS = (1, 0, 3)


def conv(inside: int, outside: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(), nn.MaxPool2d(2))


def branch(channels: int) -> nn.Sequential:
    return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * channels, CLASSES))


def entropy(y: torch.Tensor) -> torch.Tensor:
    return -(y * torch.log(y + 1e-9)).sum()


class BranchyNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList([conv(3, 16), conv(16, 32), conv(32, 64)])
        self.branches = nn.ModuleList([branch(16), branch(32), branch(64)])

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Image (1x3x32x32) to class probabilities (1x10) and the exit's number."""
        for n, (stage, branch) in enumerate(zip(self.stages, self.branches, strict=True)):
            x = stage(x)
            y = F.softmax(branch(x), dim=1)
            if n == len(self.branches) - 1:
                return y, n
            e = entropy(y)
            if e < THRESHOLDS[n]:
                return y, n
        raise AssertionError("the last branch always answers")


def model() -> nn.Module:
    torch.manual_seed(0)
    return he_init(BranchyNet()).eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
