"""BlockDrop-110: a policy network looks at the image once and says which residual blocks to keep.

Wu, Nagarajan, Kumar, Rennie, Davis, Grauman, Feris: BlockDrop: Dynamic Inference Paths in Residual Networks (CVPR
2018). The network is a flattened CIFAR ResNet-110, three stages of 18 blocks; the policy network is a ResNet-8 whose 54
probabilities are thresholded. Dynamic: which of the 54 blocks run.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import damp_residuals, he_init
from samples.blocks.residual import cifar_stages, cifar_stem, pooled_classifier

SIZE, CLASSES, WIDTHS, BLOCKS = 32, 10, (16, 32, 64), 18
# The factor on the policy's untrained logits, so that few probabilities are near 0.5.
SHARPNESS = 4.0
SEEDS = (0, 55, 3)  # together they run and skip every block


class Block(nn.Module):
    """The residual branch of a block; the shortcut belongs to the network."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))


class Downsample(nn.Module):
    """Halves the map by averaging and doubles the channels with zeros."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.avg_pool2d(x, 2)
        return torch.cat([x, torch.zeros_like(x)], dim=1)


class Policy(nn.Module):
    """Image to the probability of keeping each block (1x54)."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.features = nn.Sequential(cifar_stem(), *cifar_stages(1))
        self.norm = nn.BatchNorm1d(64)
        self.logit = nn.Linear(64, actions)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.logit(self.norm(self.features(x).mean((2, 3)))))


class FlatResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = cifar_stem()
        self.stages = nn.ModuleList()
        inside = WIDTHS[0]
        for width in WIDTHS:
            stride = width // inside
            blocks = [Block(inside, width, stride), *(Block(width, width, 1) for _ in range(BLOCKS - 1))]
            self.stages.append(nn.ModuleList(blocks))
            inside = width
        self.shortcuts = nn.ModuleList([nn.Identity(), Downsample(), Downsample()])
        self.classify = pooled_classifier(WIDTHS[-1], CLASSES)

    def forward(self, x: torch.Tensor, policy: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        t = 0
        for blocks, shortcut in zip(self.stages, self.shortcuts, strict=True):
            for b, block in enumerate(blocks):
                residual = shortcut(x) if b == 0 else x
                if policy[0, t] == 1:
                    residual = F.relu(residual + block(x))
                x = residual
                t += 1
        return self.classify(x)


class BlockDrop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.agent = Policy(len(WIDTHS) * BLOCKS)
        self.net = FlatResNet()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Image (1x3x32x32) to logits (1x10) and the policy (1x54, zeros and ones)."""
        policy = (self.agent(x) > 0.5).float()
        return self.net(x, policy), policy


def model() -> nn.Module:
    torch.manual_seed(0)
    net = BlockDrop()
    he_init(net)
    damp_residuals(net.net, "bn2", 0.3)
    with torch.no_grad():
        calibrate(net.agent)
    return net.eval()


def calibrate(agent: Policy) -> None:
    """Gives the last norm the statistics of 64 random images: its inputs are then spread about zero."""
    images = torch.cat([random_image(SIZE, seed) for seed in range(1000, 1064)])
    features = agent.eval().features(images).mean((2, 3))
    agent.norm.running_mean = features.mean(0)
    agent.norm.running_var = features.var(0)
    agent.logit.bias.mul_(SHARPNESS)
    agent.logit.weight.mul_(SHARPNESS)


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
