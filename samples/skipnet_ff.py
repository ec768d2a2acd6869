"""SkipNet-38 with feed-forward gates: before each residual block a small convolutional gate decides whether to run it.

Wang, Yu, Dou, Darrell, Gonzalez: SkipNet: Learning Dynamic Routing in Convolutional Networks (ECCV 2018). The network
is a CIFAR ResNet-38, three stages of six blocks; every block has a gate of its own.
Dynamic: which of the 18 blocks run.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import damp_residuals, he_init
from samples.blocks.residual import cifar_stages, cifar_stem, pooled_classifier

SIZE, CLASSES, WIDTHS = 32, 10, (16, 32, 64)
# The factor on the gates' untrained votes, and what is added to each gate's vote for running its block: chosen block by
# block on 64 random images, in the middle of a gap between two of them, so that a third to two thirds run the block.
GAIN = 10.0
BIAS = (
    6.766,
    4.914,
    -19.317,
    8.224,
    6.568,
    -7.723,
    -11.622,
    1.548,
    28.564,
    -2.884,
    -11.413,
    27.275,
    20.762,
    24.837,
    -19.521,
    3.934,
    12.787,
    15.925,
)
SEEDS = (0, 1, 37)  # together they run and skip every block


class FeedForwardGate(nn.Module):
    """Votes on skipping (0) and running (1) a block from its input."""

    def __init__(self, channels: int, width: int = 10) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, width, 3, stride=2, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(width)
        self.vote = nn.Linear(width, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.bn(self.conv(F.max_pool2d(x, 2))))
        return F.softmax(self.vote(x.mean((2, 3))), dim=1)


class SkipNet(nn.Module):
    def __init__(self, blocks_per_stage: int = 6) -> None:
        super().__init__()
        blocks = cifar_stages(blocks_per_stage)
        self.stem = cifar_stem()
        self.gates = nn.ModuleList(FeedForwardGate(block.conv1.in_channels) for block in blocks)
        self.blocks = nn.ModuleList(blocks)
        self.classify = pooled_classifier(WIDTHS[-1], CLASSES)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Image (1x3x32x32) to logits (1x10) and the gates' votes for running (18x1)."""
        x = self.stem(x)
        votes = []
        for gate, block in zip(self.gates, self.blocks, strict=True):
            vote = gate(x)[:, 1]
            votes.append(vote)
            out = block.shortcut(x)
            if vote > 0.5:
                out = F.relu(block.residual(x) + out)
            x = out
        return self.classify(x), torch.stack(votes)


def model() -> nn.Module:
    torch.manual_seed(0)
    net = SkipNet()
    damp_residuals(he_init(net), "bn2", 0.5)
    with torch.no_grad():
        for gate, bias in zip(net.gates, BIAS, strict=True):
            gate.vote.weight.mul_(GAIN)
            gate.vote.bias[1] += bias
    return net.eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
