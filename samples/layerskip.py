"""LayerSkip: the caller says at run time after which layer to leave; the same head serves every exit.

Elhoushi et al.: LayerSkip: Enabling Early Exit Inference and Self-Speculative Decoding (ACL 2024).
Dynamic: the number of layers, read from a tensor; more than there are is an error.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.transformer import EncoderLayer, causal_mask

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH = 100, 32, 4, 6, 8
SEEDS = (0, 1, 2, 3, 4, 5, 6)  # the exit layer is the seed modulo 7


class LayerSkip(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(EncoderLayer(WIDTH, HEADS) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor, exit_layer: torch.Tensor) -> torch.Tensor:
        """Tokens (1x8, int64) and the number of layers to run (0-d, int64) to the next token's logits (1x100)."""
        last = int(exit_layer)
        if last < 0 or last > LAYERS:
            raise ValueError(f"the model has {LAYERS} layers, it cannot leave after {last}")
        x = self.words(tokens)
        mask = causal_mask(tokens.shape[1])
        for i, layer in enumerate(self.layers):
            if i >= last:
                break
            x = layer(x, mask)
        return self.head(self.norm(x[:, -1]))


def model() -> nn.Module:
    torch.manual_seed(0)
    return LayerSkip().eval()


def draw(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return torch.randint(0, VOCABULARY, (1, LENGTH), generator=g), torch.tensor(seed % (LAYERS + 1))


def example_inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
