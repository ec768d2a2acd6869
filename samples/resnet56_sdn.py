"""Shallow-Deep ResNet-56: six internal classifiers, early exit at softmax confidence.

Kaya, Hong, Dumitras: Shallow-Deep Networks: Understanding and Mitigating Network Overthinking (ICML 2019); the network
is the CIFAR ResNet-56 (He et al. 2016), three stages of nine blocks.
Dynamic: how many of the 27 blocks run.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import damp_residuals, he_init
from samples.blocks.residual import cifar_stages, cifar_stem, pooled_classifier
from samples.blocks.shallow_deep import ShallowDeep

SIZE, CLASSES, THRESHOLD = 256, 1000, 0.5
# After how many blocks the internal classifiers sit, and the factor on their logits: chosen on 40 random images so that
# about a seventh of them leaves at each exit.
SHARPNESS = {4: 1.3, 8: 0.416, 12: 0.75, 16: 1.3, 20: 1.67, 24: 1.72}
SEEDS = (34, 5, 25, 28, 36, 4, 16)  # one image for each way out


def model() -> nn.Module:
    torch.manual_seed(0)
    blocks: list[nn.Module] = [*cifar_stages(9)]
    blocks[0] = nn.Sequential(cifar_stem(), blocks[0])
    widths = {n: (16, 32, 64)[(n - 1) // 9] for n in SHARPNESS}
    net = ShallowDeep(blocks, pooled_classifier(64, CLASSES), widths, CLASSES, THRESHOLD)
    damp_residuals(he_init(net), "bn2", 0.4)
    net.sharpen(SHARPNESS)
    return net.eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
