"""Mixture-of-Depths: a router lets some tokens through each block; the others pass it by.

Raposo, Ritter, Richards, Lillicrap, Humphreys, Santoro: Mixture-of-Depths: Dynamically Allocating Compute in
Transformer-Based Language Models (2024). At inference a token enters a block if its router says so, the capacity
permitting. Dynamic: how many tokens enter each block (gather, scatter), none included.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.transformer import EncoderLayer

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH, CAPACITY = 200, 32, 4, 4, 12, 6
SEEDS = (1, 0, 9, 3, 23)


class RoutedBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, 1)
        self.block = EncoderLayer(WIDTH, HEADS)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = self.router(x).squeeze(-1)[0]
        chosen = torch.nonzero(weights > 0.5).flatten()
        if chosen.numel() == 0:
            return x
        if chosen.numel() > CAPACITY:
            chosen = weights.topk(CAPACITY).indices.sort().values
        tokens = x[:, chosen]
        delta = self.block(tokens) - tokens
        index = chosen.view(1, -1, 1).expand(1, -1, WIDTH)
        return x.scatter_add(1, index, torch.sigmoid(weights[chosen]).view(1, -1, 1) * delta)


class MixtureOfDepths(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        # Small, but equal words differ: among equal scores, which one topk takes is not defined.
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, WIDTH, generator=torch.Generator().manual_seed(1)))
        self.blocks = nn.ModuleList(RoutedBlock() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Tokens (1x12, int64) to the next token's logits at every place (1x12x200)."""
        x = self.words(tokens) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def model() -> nn.Module:
    torch.manual_seed(0)
    return MixtureOfDepths().eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    """Sentences that repeat few words: their routers then agree on all tokens or none."""
    g = torch.Generator().manual_seed(seed)
    words = torch.randint(0, VOCABULARY, (1 + seed % 4,), generator=g)
    return (words[torch.randint(0, len(words), (1, LENGTH), generator=g)],)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
