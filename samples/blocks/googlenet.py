"""GoogLeNet with batch norm as a feature extractor (Szegedy et al. 2015)."""

import torch
from torch import nn

# Input channels; outputs of the 1x1, 3x3 (reduced, full), 5x5 (reduced, full) and pooling branches; None: pool by two.
INCEPTIONS = (
    (192, 64, 96, 128, 16, 32, 32),
    (256, 128, 128, 192, 32, 96, 64),
    None,
    (480, 192, 96, 208, 16, 48, 64),
    (512, 160, 112, 224, 24, 64, 64),
    (512, 128, 128, 256, 24, 64, 64),
    (512, 112, 144, 288, 32, 64, 64),
    (528, 256, 160, 320, 32, 128, 128),
    None,
    (832, 256, 160, 320, 32, 128, 128),
    (832, 384, 192, 384, 48, 128, 128),
)


def conv(inside: int, outside: int, kernel: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, outside, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outside), nn.ReLU()
    )


class Inception(nn.Module):
    """Four branches side by side, concatenated."""

    def __init__(self, inside: int, one: int, red3: int, three: int, red5: int, five: int, pool: int) -> None:
        super().__init__()
        self.branch1 = conv(inside, one, 1)
        self.branch2 = nn.Sequential(conv(inside, red3, 1), conv(red3, three, 3))
        self.branch3 = nn.Sequential(conv(inside, red5, 1), conv(red5, five, 5))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(inside, pool, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


def googlenet() -> nn.Sequential:
    """Image (Nx3xHxW) to features (Nx1024xH/32xW/32)."""
    pool = nn.MaxPool2d(3, 2, 1)
    stem = [conv(3, 64, 7, 2), pool, conv(64, 64, 1), conv(64, 192, 3), pool]
    return nn.Sequential(*stem, *(Inception(*widths) if widths else pool for widths in INCEPTIONS))
