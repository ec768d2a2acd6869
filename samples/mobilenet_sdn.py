"""Shallow-Deep MobileNet: five internal classifiers, early exit at softmax confidence.

Kaya, Hong, Dumitras: Shallow-Deep Networks: Understanding and Mitigating Network Overthinking (ICML 2019); the network
is MobileNet (Howard et al. 2017) with 13 depthwise separable blocks and a first convolution of stride 1.
Dynamic: how many blocks run.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import he_init
from samples.blocks.residual import cifar_stem, pooled_classifier
from samples.blocks.shallow_deep import ShallowDeep

SIZE, CLASSES, THRESHOLD = 256, 1000, 0.5
# (width, stride) of the 13 blocks.
BLOCKS = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
    (512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1),
)  # fmt: skip
# After how many blocks the internal classifiers sit, and the factor on their logits: chosen on 40 random images so that
# about a sixth of them leaves at each exit.
SHARPNESS = {3: 2.04, 5: 1.47, 7: 6.2, 9: 9.17, 12: 4.75}
SEEDS = (27, 26, 2, 20, 7, 16)  # one image for each way out


def separable(inside: int, outside: int, stride: int) -> nn.Sequential:
    """A depthwise 3x3 convolution and a pointwise one."""
    return nn.Sequential(
        nn.Conv2d(inside, inside, 3, stride, 1, groups=inside, bias=False),
        nn.BatchNorm2d(inside),
        nn.ReLU(),
        nn.Conv2d(inside, outside, 1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(),
    )


def model() -> nn.Module:
    torch.manual_seed(0)
    widths = [32, *(width for width, _ in BLOCKS)]
    blocks = [separable(widths[i], width, stride) for i, (width, stride) in enumerate(BLOCKS)]
    blocks[0] = nn.Sequential(cifar_stem(32), blocks[0])
    net = ShallowDeep(blocks, pooled_classifier(1024, CLASSES), {n: widths[n] for n in SHARPNESS}, CLASSES, THRESHOLD)
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
