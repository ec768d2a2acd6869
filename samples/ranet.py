"""Resolution adaptive network: easy images are answered at low resolution, hard ones go on at the next finer one.

Yang, Han, Chen, Song, Dai, Huang: Resolution Adaptive Networks for Efficient Inference (CVPR 2020).
Dynamic: at which resolution and block it stops; the list of logits returned is as long as classifiers were asked.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import he_init

SIZE, CLASSES, WIDTH, GROWTH = 32, 10, 16, 8
BLOCKS = (2, 3, 4)  # of the sub-networks, coarsest first
# Confidences at which a classifier stops, by the number asked before: random images leave at every resolution.
THRESHOLDS = (0.5, 0.4, 0.3, 0.25, 0.2)
SEEDS = (0, 1, 3, 5, 11)


def conv(inside: int, outside: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(inplace=True)
    )


class Block(nn.Module):
    """Adds new features to a map, made from it and, if there is one, from the coarser sub-network's map."""

    def __init__(self, channels: int, coarse: int | None) -> None:
        super().__init__()
        self.new = conv(channels, GROWTH, 1)
        self.fuse = None if coarse is None else conv(coarse, GROWTH, 1)

    def forward(self, x: torch.Tensor, coarse: torch.Tensor | None) -> torch.Tensor:
        y = self.new(x)
        if self.fuse is not None:
            y = y + F.interpolate(self.fuse(coarse), size=x.shape[-2:], mode="bilinear", align_corners=False)
        return torch.cat([x, y], dim=1)


def classifier(channels: int) -> nn.Sequential:
    return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * channels, CLASSES))


class RANet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.ModuleList([conv(3, WIDTH, 1), conv(WIDTH, WIDTH, 2), conv(WIDTH, WIDTH, 2)])
        self.scales = nn.ModuleList()
        self.classifiers = nn.ModuleList()
        for s, blocks in enumerate(BLOCKS):
            widths = [WIDTH + GROWTH * b for b in range(blocks + 1)]
            # A block that the coarser sub-network does not have takes that one's last map.
            coarse = [None] * blocks if s == 0 else [widths[min(b, BLOCKS[s - 1] - 1) + 1] for b in range(blocks)]
            self.scales.append(nn.ModuleList(map(Block, widths, coarse)))
            self.classifiers.append(nn.ModuleList(map(classifier, widths[2:])))

    def forward(self, image: torch.Tensor) -> list[torch.Tensor]:
        """Image (1x3x32x32) to the logits (1x10) of every classifier that was asked."""
        pyramid = []
        for layer in self.stem:
            image = layer(image)
            pyramid.insert(0, image)
        logits: list[torch.Tensor] = []
        coarse: list[torch.Tensor] = []
        for s, blocks in enumerate(self.scales):
            x, features = pyramid[s], []
            for b, block in enumerate(blocks):
                x = block(x, coarse[min(b, len(coarse) - 1)] if coarse else None)
                features.append(x)
                if b == 0:  # too early to say
                    continue
                logits.append(self.classifiers[s][b - 1](x))
                k = len(logits) - 1
                if k < len(THRESHOLDS) and F.softmax(logits[-1], dim=1).max() >= THRESHOLDS[k]:
                    return logits
            coarse = features
        return logits


def model() -> nn.Module:
    torch.manual_seed(0)
    return he_init(RANet()).eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
