"""A GPT-like decoder that completes a prompt with cached keys and values and a Python list of tokens.

Radford et al.: Language Models are Unsupervised Multitask Learners (2019).
Dynamic: the prompt's length; the loop ends at the end token; caches grow by concatenation.
"""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, HEADS, LAYERS, MAX_NEW, MAX_LENGTH, EOS = 100, 32, 4, 2, 16, 32, 0
GAIN, EOS_BIAS = 3.0, 9.0  # on the untrained weights, and on the end token's score: completions of 0 to 16 tokens occur
SEEDS = (9, 3, 19, 73, 42, 0)

Cache = list[tuple[torch.Tensor, torch.Tensor]]


class CachedBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed_forward = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(
        self, x: torch.Tensor, past: tuple[torch.Tensor, torch.Tensor] | None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        q, k, v = self.qkv(self.norm1(x)).view(1, x.shape[1], 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS)
        if past is None:
            hidden = torch.triu(torch.ones(x.shape[1], x.shape[1]), diagonal=1) == 1
            scores = scores.masked_fill(hidden, float("-inf"))
        mixed = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(x.shape)
        x = x + self.out(mixed)
        return x + self.feed_forward(self.norm2(x)), (k, v)


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(MAX_LENGTH, WIDTH)
        self.blocks = nn.ModuleList(CachedBlock() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def step(self, tokens: torch.Tensor, start: int, cache: Cache | None) -> tuple[torch.Tensor, Cache]:
        """Logits (100) of the token after ``tokens`` (1xT), from position ``start`` on, and the cache with them."""
        x = self.words(tokens) + self.places(torch.arange(start, start + tokens.shape[1]))
        new_cache = []
        for i, block in enumerate(self.blocks):
            x, entry = block(x, None if cache is None else cache[i])
            new_cache.append(entry)
        logits = self.norm(x[0, -1]) @ self.words.weight.T
        logits[EOS] += EOS_BIAS
        return logits, new_cache

    def forward(self, prompt: torch.Tensor) -> list[int]:
        """Prompt tokens (1xT, int64, T up to 16) to the completion's tokens."""
        logits, cache = self.step(prompt, 0, None)
        position = prompt.shape[1]
        tokens: list[int] = []
        while len(tokens) < MAX_NEW:
            token = int(logits.argmax())
            if token == EOS:
                break
            tokens.append(token)
            logits, cache = self.step(torch.tensor([[token]]), position, cache)
            position += 1
        return tokens


def model() -> nn.Module:
    torch.manual_seed(0)
    net = Gpt()
    with torch.no_grad():
        for block in net.blocks:
            for weight in block.parameters():
                if weight.dim() == 2:
                    weight.mul_(GAIN)
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    length = int(torch.randint(1, 17, (), generator=g))
    return (torch.randint(1, VOCABULARY, (1, length), generator=g),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
