"""Shallow-Deep VGG16 with batch norm: six internal classifiers, early exit at softmax confidence.

Kaya, Hong, Dumitras: Shallow-Deep Networks: Understanding and Mitigating Network Overthinking (ICML 2019); the network
is VGG16-BN (Simonyan and Zisserman 2015).
Dynamic: how many of the 13 convolutions run.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import he_init
from samples.blocks.shallow_deep import ShallowDeep

SIZE, CLASSES, THRESHOLD = 256, 1000, 0.5
WIDTHS = (64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512)
POOLED = (2, 4, 7, 10, 13)  # a maximum pooling follows these convolutions
# After how many convolutions the internal classifiers sit, and the factor on their logits: chosen on 40 random images
# so that about a seventh of them leaves at each exit.
SHARPNESS = {2: 1.85, 4: 1.69, 6: 1.24, 8: 4.89, 10: 4.05, 12: 6.38}
SEEDS = (27, 5, 2, 28, 14, 6, 11)  # one image for each way out


def layer(n: int) -> nn.Sequential:
    """The ``n``-th convolution with what follows it."""
    inside = 3 if n == 1 else WIDTHS[n - 2]
    conv = nn.Conv2d(inside, WIDTHS[n - 1], 3, padding=1)
    pool = [nn.MaxPool2d(2)] if n in POOLED else []
    return nn.Sequential(conv, nn.BatchNorm2d(WIDTHS[n - 1]), nn.ReLU(), *pool)


def model() -> nn.Module:
    torch.manual_seed(0)
    layers: list[nn.Module] = [layer(n) for n in range(1, len(WIDTHS) + 1)]
    head = nn.Sequential(
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 512), nn.ReLU(), nn.Dropout(), nn.Linear(512, CLASSES)
    )
    net = ShallowDeep(layers, head, {n: WIDTHS[n - 1] for n in SHARPNESS}, CLASSES, THRESHOLD)
    he_init(net)
    net.sharpen(SHARPNESS)
    return net.eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
