"""Big-little cascade: a small network answers unless the margin between its two best classes is thin.

Park, Kim, Yeom, Lee, Choi: Big/Little Deep Neural Network for Ultra Low Power Inference (CODES+ISSS 2015).
Dynamic: whether the big network runs.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import damp_residuals, he_init
from samples.blocks.residual import cifar_stages, cifar_stem, pooled_classifier

SIZE, CLASSES = 32, 10
MARGIN = 0.045  # the median over 60 random images
SEEDS = (0, 3)


def resnet(blocks_per_stage: int) -> nn.Sequential:
    return nn.Sequential(cifar_stem(), *cifar_stages(blocks_per_stage), pooled_classifier(64, CLASSES))


class Cascade(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.little = nn.Sequential(cifar_stem(), nn.MaxPool2d(4), pooled_classifier(16, CLASSES))
        self.big = resnet(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Image (1x3x32x32) to class probabilities (1x10)."""
        p = F.softmax(self.little(x), dim=1)
        best, second = torch.topk(p[0], 2).values
        if best - second > MARGIN:
            return p
        return F.softmax(self.big(x), dim=1)


def model() -> nn.Module:
    torch.manual_seed(0)
    return damp_residuals(he_init(Cascade()), "bn2", 0.5).eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
