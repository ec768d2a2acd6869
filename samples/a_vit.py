"""A-ViT: tokens whose halting score is used up leave the vision transformer; it ends early when none is left.

Yin, Vahdat, Alvarez, Mallya, Kautz, Molchanov: A-ViT: Adaptive Tokens for Efficient Vision Transformer (CVPR 2022).
Dynamic: how many tokens each layer sees and how many layers run.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.transformer import EncoderLayer

SIZE, PATCH, WIDTH, HEADS, LAYERS, CLASSES = 32, 8, 32, 4, 6, 10
# Scale and shift of the halting logit, which is the first number of a token: chosen so that tokens leave at all layers.
SCALE, SHIFT, LIMIT = 1.5, -0.5, 0.99
SEEDS = (6, 0, 7, 1)


class AViT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.place = nn.Parameter(0.5 * torch.randn(1, (SIZE // PATCH) ** 2, WIDTH))
        self.layers = nn.ModuleList(EncoderLayer(WIDTH, HEADS) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
        """Image (1x3x32x32) to logits (1x10) and how many of the 16 tokens each layer that ran has seen."""
        x = self.embed(image).flatten(2).transpose(1, 2) + self.place
        total = torch.zeros(x.shape[1])
        out = torch.zeros(1, WIDTH)
        seen = []
        for layer in self.layers:
            seen.append(x.shape[1])
            x = layer(x)
            h = torch.sigmoid(SCALE * x[0, :, 0] + SHIFT)
            total = total + h
            out = out + (h.unsqueeze(-1) * x[0]).sum(dim=0, keepdim=True)
            alive = torch.nonzero(total < LIMIT).squeeze(1)
            if alive.numel() == 0:
                break
            x = x[:, alive]
            total = total[alive]
        return self.head(self.norm(out)), seen


def model() -> nn.Module:
    torch.manual_seed(0)
    return AViT().eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
