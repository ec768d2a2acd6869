"""Shallow-Deep Networks: a feed-forward network with internal classifiers that may answer early."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import nn


class InternalClassifier(nn.Module):
    """Pools features to 2x2, mixing maximum and mean by a learnt weight, and classifies them."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.mix = nn.Parameter(torch.rand(1))
        self.linear = nn.Linear(4 * channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mix = torch.sigmoid(self.mix)
        pooled = mix * F.adaptive_max_pool2d(x, 2) + (1 - mix) * F.adaptive_avg_pool2d(x, 2)
        return self.linear(pooled.flatten(1))


class ShallowDeep(nn.Module):
    """Runs ``blocks`` in order and returns at the first internal classifier that is confident enough.

    internal: number of blocks run -> width of the features there, for every internal classifier.
    """

    def __init__(
        self, blocks: Sequence[nn.Module], head: nn.Module, internal: dict[int, int], classes: int, threshold: float
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.exits = nn.ModuleDict({str(n): InternalClassifier(c, classes) for n, c in internal.items()})
        self.head = head
        self.threshold = threshold

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Image (1x3xHxW) to logits (1xclasses) and the number of blocks that were run."""
        for i, block in enumerate(self.blocks, 1):
            x = block(x)
            if str(i) in self.exits:
                logits = self.exits[str(i)](x)
                confidence = F.softmax(logits, dim=1).max()
                if confidence >= self.threshold:
                    return logits, i
        return self.head(x), len(self.blocks)

    @torch.no_grad()
    def sharpen(self, factors: dict[int, float]) -> None:
        """Scales the logits of the internal classifiers: stands for the confidence that training brings."""
        for n, factor in factors.items():
            linear = self.exits.get_submodule(f"{n}.linear")
            assert isinstance(linear, nn.Linear)
            linear.weight.mul_(factor)
            linear.bias.mul_(factor)
