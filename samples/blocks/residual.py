"""Residual blocks of the CIFAR networks (He et al. 2016)."""

import torch
import torch.nn.functional as F
from torch import nn


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut, which is a strided 1x1 convolution where the shape changes."""

    def __init__(self, inside: int, outside: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inside != outside:
            self.shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def residual(self, x: torch.Tensor) -> torch.Tensor:
        return self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.residual(x) + self.shortcut(x))


def cifar_stages(blocks_per_stage: int, widths: tuple[int, ...] = (16, 32, 64)) -> list[BasicBlock]:
    """The blocks of a CIFAR ResNet in order; every stage but the first starts with a stride of two."""
    blocks, inside = [], widths[0]
    for stage, width in enumerate(widths):
        for b in range(blocks_per_stage):
            blocks.append(BasicBlock(inside, width, 2 if stage > 0 and b == 0 else 1))
            inside = width
    return blocks


def cifar_stem(width: int = 16) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())


def pooled_classifier(channels: int, classes: int) -> nn.Sequential:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))
