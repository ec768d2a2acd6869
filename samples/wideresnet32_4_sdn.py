"""Shallow-Deep WideResNet-32-4: five internal classifiers, early exit at softmax confidence.

Kaya, Hong, Dumitras: Shallow-Deep Networks: Understanding and Mitigating Network Overthinking (ICML 2019); the network
is a Wide ResNet (Zagoruyko and Komodakis 2016), three stages of five pre-activation blocks, four times the usual width.
Dynamic: how many of the 15 blocks run.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import he_init
from samples.blocks.residual import pooled_classifier
from samples.blocks.shallow_deep import ShallowDeep

SIZE, CLASSES, THRESHOLD = 256, 1000, 0.5
WIDTHS = (64, 128, 256)
# After how many blocks the internal classifiers sit, and the factor on their logits: chosen on 40 random images so that
# about a sixth of them leaves at each exit.
SHARPNESS = {2: 0.91, 5: 0.88, 7: 0.801, 10: 0.825, 12: 1.11}
SEEDS = (30, 34, 26, 32, 33, 15)  # one image for each way out


class WideBlock(nn.Module):
    """Batch norm and ReLU come before each convolution; dropout between the two."""

    def __init__(self, inside: int, outside: int, stride: int, dropout: float = 0.3) -> None:
        super().__init__()
        self.bn1, self.bn2 = nn.BatchNorm2d(inside), nn.BatchNorm2d(outside)
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        same = stride == 1 and inside == outside
        self.shortcut = nn.Identity() if same else nn.Conv2d(inside, outside, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.dropout(self.conv1(F.relu(self.bn1(x))))
        return self.conv2(F.relu(self.bn2(y))) + self.shortcut(x)


def wide_blocks() -> list[nn.Module]:
    blocks, inside = [], 16
    for stage, width in enumerate(WIDTHS):
        for b in range(5):
            blocks.append(WideBlock(inside, width, 2 if stage > 0 and b == 0 else 1))
            inside = width
    first = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), blocks[0])
    return [first, *blocks[1:]]


def model() -> nn.Module:
    torch.manual_seed(0)
    head = nn.Sequential(nn.BatchNorm2d(WIDTHS[-1]), nn.ReLU(), pooled_classifier(WIDTHS[-1], CLASSES))
    widths = {n: WIDTHS[(n - 1) // 5] for n in SHARPNESS}
    net = ShallowDeep(wide_blocks(), head, widths, CLASSES, THRESHOLD)
    he_init(net)
    for m in net.modules():
        if isinstance(m, WideBlock):
            m.conv2.weight.data.mul_(0.4)  # keeps the sum of many untrained residuals from growing
    net.sharpen(SHARPNESS)
    return net.eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
