"""ConvNet-AIG: every residual block has a gate that looks at the block's input and executes or skips it.

Veit, Belongie: Convolutional Networks with Adaptive Inference Graphs (ECCV 2018).
Dynamic: which blocks run; the counts of executions are kept on the host.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import damp_residuals, he_init
from samples.blocks.residual import BasicBlock, cifar_stages, cifar_stem, pooled_classifier

SIZE, CLASSES, BLOCKS_PER_STAGE = 32, 10, 2
# The factor on the gates' untrained logits, and what is added to each gate's logit for executing: the median over 60
# random images.
GAIN = 10.0
BIAS = (16.467, -25.725, -4.015, -28.405, -24.233, -33.91)
SEEDS = (12, 0, 1, 20)


class GatedBlock(nn.Module):
    """A basic block behind a gate: average, two layers, two logits (skip, execute)."""

    def __init__(self, block: BasicBlock) -> None:
        super().__init__()
        self.block = block
        self.fc1 = nn.Conv2d(block.conv1.in_channels, 16, 1)
        self.fc2 = nn.Conv2d(16, 2, 1)

    def gate(self, x: torch.Tensor) -> torch.Tensor:
        w = F.relu(self.fc1(F.adaptive_avg_pool2d(x, 1)))
        return self.fc2(w).flatten(1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, bool]:
        executes = self.gate(x).argmax(dim=1).item() == 1
        if executes:
            return self.block(x), True
        return F.relu(self.block.shortcut(x)), False


class ConvNetAIG(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = cifar_stem()
        self.blocks = nn.ModuleList(GatedBlock(block) for block in cifar_stages(BLOCKS_PER_STAGE))
        self.classify = pooled_classifier(64, CLASSES)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Image (1x3x32x32) to logits (1x10) and the number of blocks executed."""
        x = self.stem(x)
        executed = 0
        for block in self.blocks:
            x, ran = block(x)
            if ran:
                executed += 1
        return self.classify(x), executed


def model() -> nn.Module:
    torch.manual_seed(0)
    net = ConvNetAIG()
    damp_residuals(he_init(net), "bn2", 0.5)
    with torch.no_grad():
        for block, bias in zip(net.blocks, BIAS, strict=True):
            block.fc2.weight.mul_(GAIN)
            block.fc2.bias[1] += bias
    return net.eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
