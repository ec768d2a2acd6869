"""CALM: every token leaves the decoder at its own layer; the layers above still make keys and values for later tokens.

Schuster et al.: Confident Adaptive Language Modeling (NeurIPS 2022).
Dynamic: the layer at which each token is sure enough, by a threshold that decays with the position; the end token.
"""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, LAYERS, STEPS, BOS, EOS = 60, 32, 4, 10, 1, 0
# On the untrained weights and the output scores; the threshold at position t is BASE + 0.1 * exp(-DECAY * t / STEPS).
GAIN, SHARPNESS, BASE, DECAY, EOS_BIAS = 2.0, 6.0, 0.3, 4.0, 1.2
SEEDS = (1, 7, 4, 0, 27, 14)


class Layer(nn.Module):
    """Single-head attention over cached keys and values (1xSx32 each), and a feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.feed_forward = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))

    def keys_values(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = self.norm1(x)
        return self.key(h), self.value(h)

    def forward(self, x: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q = self.query(self.norm1(x))
        x = x + F.softmax(q @ k.transpose(1, 2) / math.sqrt(WIDTH), dim=-1) @ v
        return x + self.feed_forward(self.norm2(x))


class Calm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(STEPS, WIDTH)
        self.context = nn.Linear(WIDTH, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        return SHARPNESS * self.head(self.norm(x[0, 0]))

    def token(
        self, x: torch.Tensor, keys: list[torch.Tensor], values: list[torch.Tensor], threshold: float
    ) -> tuple[torch.Tensor, int]:
        """The next token's logits and the layer they come from; extends the caches of all layers."""
        exited = LAYERS
        logits = None
        for i, layer in enumerate(self.layers):
            k, v = layer.keys_values(x)
            keys[i], values[i] = torch.cat([keys[i], k], dim=1), torch.cat([values[i], v], dim=1)
            if logits is not None:
                continue
            x = layer(x, keys[i], values[i])
            scores = self.logits(x)
            top = torch.topk(F.softmax(scores, dim=0), 2).values
            if i == LAYERS - 1 or top[0] - top[1] > threshold:
                logits = scores
                exited = i + 1
        return logits, exited

    def forward(self, context: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
        """Context (1x32) to tokens (up to 10, int64) and the layer at which each was decided."""
        keys = [torch.zeros(1, 0, WIDTH) for _ in range(LAYERS)]
        values = [torch.zeros(1, 0, WIDTH) for _ in range(LAYERS)]
        token, tokens, exits = torch.tensor(BOS), [], []
        for t in range(STEPS):
            threshold = BASE + 0.1 * math.exp(-DECAY * t / STEPS)
            x = (self.words(token) + self.places.weight[t] + self.context(context[0])).view(1, 1, WIDTH)
            logits, exited = self.token(x, keys, values, threshold)
            token = logits.argmax()
            tokens.append(token)
            exits.append(exited)
            if token == EOS:
                break
        return torch.stack(tokens), exits


def model() -> nn.Module:
    torch.manual_seed(0)
    net = Calm()
    with torch.no_grad():
        for layer in net.layers:
            for weight in layer.parameters():
                if weight.dim() == 2:
                    weight.mul_(GAIN)
        net.head.bias[EOS] += EOS_BIAS
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    return (2 * torch.randn(1, WIDTH, generator=torch.Generator().manual_seed(seed)),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
