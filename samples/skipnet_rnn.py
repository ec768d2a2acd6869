"""SkipNet-38 with a recurrent gate: before each residual block an LSTM decides whether to run it.

Wang, Yu, Dou, Darrell, Gonzalez: SkipNet: Learning Dynamic Routing in Convolutional Networks (ECCV 2018). The network
is a CIFAR ResNet-38, three stages of six blocks; all gates share one LSTM, whose state is carried from block to block.
Dynamic: which of the 18 blocks run.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import damp_residuals, he_init
from samples.blocks.residual import cifar_stages, cifar_stem, pooled_classifier

SIZE, CLASSES, WIDTHS = 32, 10, (16, 32, 64)
# The gate's untrained weights are scaled up, so that its state depends on the image; the bias was chosen on 60 random
# images so that they run half of the blocks.
GAIN, BIAS = 4.0, 0.25
SEEDS = (0, 181, 46, 87)  # together they run and skip every block

State = tuple[torch.Tensor, torch.Tensor]


class RecurrentGate(nn.Module):
    """Decides from the pooled features of a block's input (embedded to 10 numbers) and the state."""

    def __init__(self, width: int = 10) -> None:
        super().__init__()
        self.width = width
        self.lstm = nn.LSTM(width, width)
        self.project = nn.Linear(width, 1)

    def start(self, batch: int) -> State:
        return torch.zeros(1, batch, self.width), torch.zeros(1, batch, self.width)

    def forward(self, x: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        out, state = self.lstm(x.view(1, x.shape[0], self.width), state)
        return torch.sigmoid(self.project(out.squeeze(0))), state


class SkipNet(nn.Module):
    def __init__(self, blocks_per_stage: int = 6) -> None:
        super().__init__()
        self.stem = cifar_stem()
        self.blocks = nn.ModuleList(cifar_stages(blocks_per_stage))
        self.embed = nn.ModuleList(
            nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, 10, 1)) for width in self.input_widths()
        )
        self.gate = RecurrentGate()
        self.classify = pooled_classifier(WIDTHS[-1], CLASSES)

    def input_widths(self) -> list[int]:
        return [block.conv1.in_channels for block in self.blocks]

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Image (1x3x32x32) to logits (1x10) and the gates' decisions (18x1x1, bool)."""
        x = self.stem(x)
        state = self.gate.start(x.shape[0])
        masks = []
        for block, embed in zip(self.blocks, self.embed, strict=True):
            probability, state = self.gate(embed(x), state)
            mask = probability > 0.5
            masks.append(mask)
            x = block(x) if mask else block.shortcut(x)
        return self.classify(x), torch.stack(masks)


def model() -> nn.Module:
    torch.manual_seed(0)
    net = SkipNet()
    damp_residuals(he_init(net), "bn2", 0.5)
    with torch.no_grad():
        for weight in net.gate.parameters():
            weight.mul_(GAIN)
        net.gate.project.bias.fill_(BIAS)
    return net.eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
