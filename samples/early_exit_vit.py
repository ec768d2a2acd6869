"""A vision transformer with an exit after every block, whose result says how it came about.

Bakhtiarnia, Zhang, Iosifidis: Multi-Exit Vision Transformer for Dynamic Inference (BMVC 2021).
Dynamic: how many blocks run; an early result carries the class token only, a late one all tokens.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.transformer import EncoderLayer

SIZE, PATCH, WIDTH, HEADS, LAYERS, CLASSES = 32, 8, 32, 4, 4, 10
# The factors on the exits' untrained logits: chosen on 60 random images so that about a quarter leaves at each exit.
THRESHOLD, SHARPNESS = 0.5, (3.12, 2.96, 13.53, 1.0)
SEEDS = (0, 70, 1, 4)


class Result(NamedTuple):
    logits: torch.Tensor
    tokens: torch.Tensor
    layer: int
    confident: bool


class EarlyExitViT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.class_token = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.place = nn.Parameter(0.5 * torch.randn(1, 1 + (SIZE // PATCH) ** 2, WIDTH))
        self.layers = nn.ModuleList(EncoderLayer(WIDTH, HEADS) for _ in range(LAYERS))
        self.heads = nn.ModuleList(nn.Linear(WIDTH, CLASSES) for _ in range(LAYERS))

    def forward(self, image: torch.Tensor) -> Result:
        """Image (1x3x32x32) to logits (1x10), tokens (1x1x32 or 1x17x32), the last layer and whether it was sure."""
        patches = self.embed(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token, patches], dim=1) + self.place
        for i, (layer, head) in enumerate(zip(self.layers, self.heads, strict=True)):
            x = layer(x)
            logits = head(x[:, 0])
            if F.softmax(logits, dim=-1).amax() > THRESHOLD:
                return Result(logits, x[:, :1], i, True)
        return Result(logits, x, LAYERS - 1, False)


def model() -> nn.Module:
    torch.manual_seed(0)
    net = EarlyExitViT()
    with torch.no_grad():
        for head, factor in zip(net.heads, SHARPNESS, strict=True):
            head.weight.mul_(factor)
    return net.eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
