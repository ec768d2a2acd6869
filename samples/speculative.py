"""Self-speculative decoding: half of a decoder's layers draft tokens, all of them verify the draft in one pass.

Zhang, Wang, Li, Shou, Chen, Chen, Mehrotra: Draft & Verify: Lossless Large Language Model Acceleration via
Self-Speculative Decoding (ACL 2024). Dynamic: how long a draft is (it ends when the draft gets unsure), how much of it
is accepted, and to where the cache is cropped.
"""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, HEADS, LAYERS, PROMPT, MAX_NEW, MAX_LENGTH, EOS = 60, 32, 4, 4, 5, 14, 32, 0
DRAFT_LAYERS, DRAFT, CONFIDENCE = (0, 2), 4, 0.3
GAIN, EOS_BIAS = 3.0, 4.0  # on the untrained weights, and on the end token's score: 1 to 14 tokens
SEEDS = (0, 1, 4, 5, 7, 12)

Cache = list[tuple[torch.Tensor, torch.Tensor]]


class CachedBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed_forward = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(
        self, x: torch.Tensor, past: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """New positions x (TxD) and keys and values of P old ones (HxPxD/H each)."""
        new, old = x.shape[0], past[0].shape[1]
        q, k, v = self.qkv(self.norm1(x)).view(new, 3, HEADS, -1).permute(1, 2, 0, 3)
        k, v = torch.cat([past[0], k], dim=1), torch.cat([past[1], v], dim=1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS)
        seen = torch.arange(old + new) <= torch.arange(old, old + new).unsqueeze(1)
        mixed = F.softmax(scores.masked_fill(~seen, float("-inf")), dim=-1) @ v
        x = x + self.out(mixed.transpose(0, 1).reshape(x.shape))
        return x + self.feed_forward(self.norm2(x)), (k, v)


class SpeculativeGpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(MAX_LENGTH, WIDTH)
        self.blocks = nn.ModuleList(CachedBlock() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def step(self, tokens: torch.Tensor, cache: Cache, layers: tuple[int, ...]) -> tuple[torch.Tensor, Cache]:
        """Logits (Tx60) after each of ``tokens`` (T), and the cache with them; only ``layers`` run."""
        start = cache[0][0].shape[1]
        x = self.words(tokens) + self.places(torch.arange(start, start + tokens.shape[0]))
        cache = list(cache)
        for i in layers:
            x, cache[i] = self.blocks[i](x, cache[i])
        logits = self.norm(x) @ self.words.weight.T
        logits[:, EOS] += EOS_BIAS
        return logits, cache

    def draft(self, token: int, cache: Cache) -> list[int]:
        """Up to four tokens after ``token``; the cache is left as it is."""
        tokens: list[int] = []
        while len(tokens) < DRAFT:
            logits, cache = self.step(torch.tensor([token]), cache, DRAFT_LAYERS)
            confidence, best = F.softmax(logits[-1], dim=-1).max(dim=-1)
            token = best.item()
            tokens.append(token)
            if confidence < CONFIDENCE or token == EOS:
                break
        return tokens

    def forward(self, prompt: torch.Tensor) -> tuple[list[int], int]:
        """Prompt (5, int64) to the completion's tokens, and how many of them were drafted."""
        everything = tuple(range(LAYERS))
        nothing = torch.empty(HEADS, 0, WIDTH // HEADS)
        logits, cache = self.step(prompt, [(nothing, nothing)] * LAYERS, everything)
        tokens = [int(logits[-1].argmax())]
        accepted = 0
        while tokens[-1] != EOS and len(tokens) < MAX_NEW:
            draft = self.draft(tokens[-1], cache)
            logits, cache = self.step(torch.tensor([tokens[-1], *draft]), cache, everything)
            verified = logits.argmax(dim=-1).tolist()
            n = 0
            while n < len(draft) and draft[n] == verified[n]:
                n += 1
            if EOS in draft[:n]:
                return tokens + draft[: draft.index(EOS) + 1], accepted + draft.index(EOS) + 1
            tokens += [*draft[:n], verified[n]]
            accepted += n
            length = PROMPT + len(tokens) - 1
            cache = [(k[:, :length], v[:, :length]) for k, v in cache]
        return tokens, accepted


def model() -> nn.Module:
    torch.manual_seed(0)
    net = SpeculativeGpt()
    with torch.no_grad():
        for block in net.blocks:
            for weight in block.parameters():
                if weight.dim() == 2:
                    weight.mul_(GAIN)
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    return (torch.randint(1, VOCABULARY, (PROMPT,), generator=torch.Generator().manual_seed(seed)),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
