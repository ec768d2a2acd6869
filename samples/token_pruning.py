"""Token pruning: after each layer the tokens that nobody attends to are dropped.

Kim, Shen, Thorsley, Gholami, Kwon, Hassoun, Keutzer: Learned Token Pruning for Transformers (KDD 2022).
Dynamic: how many tokens each layer sees; when only the class token is left, the remaining layers are skipped.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, LAYERS, LENGTH, CLASSES = 100, 32, 4, 16, 3
THRESHOLDS = (0.07, 0.2, 0.3)  # mean attention that a token must get; chosen so that all layers see 1 to 16 tokens
GAIN = 4.0  # on the untrained queries and keys, so that attention is uneven
SEEDS = (35, 15, 0)


class Layer(nn.Module):
    """Single-head attention and feed-forward; also returns how much attention each token got (T)."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.feed_forward = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = self.norm1(x)
        weights = F.softmax(self.query(h) @ self.key(h).T / WIDTH**0.5, dim=-1)
        x = x + weights @ self.value(h)
        return x + self.feed_forward(self.norm2(x)), weights.mean(dim=0)


class PrunedTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
        """Tokens (16, int64, the first is the class token) to logits (3) and how many tokens each layer has seen."""
        x = self.words(tokens)
        seen = []
        for i, layer in enumerate(self.layers):
            seen.append(x.shape[0])
            x, importance = layer(x)
            if i == LAYERS - 1:
                break
            keep = torch.where(importance[1:] > THRESHOLDS[i])[0]
            x = torch.cat([x[:1], x[1:][keep]])
            if x.shape[0] == 1:
                break
        return self.head(x[0]), seen


def model() -> nn.Module:
    torch.manual_seed(0)
    net = PrunedTransformer()
    with torch.no_grad():
        for layer in net.layers:
            layer.query.weight.mul_(GAIN)
            layer.key.weight.mul_(GAIN)
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    tokens = torch.randint(1, VOCABULARY, (LENGTH,), generator=torch.Generator().manual_seed(seed))
    tokens[0] = 0
    return (tokens,)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
