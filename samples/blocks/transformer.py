"""The parts of a transformer, written out."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def positions(length: int, width: int) -> torch.Tensor:
    """Sinusoidal position codes (length x width)."""
    at = torch.arange(length).unsqueeze(1)
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    codes = torch.zeros(length, width)
    codes[:, 0::2] = torch.sin(at * rate)
    codes[:, 1::2] = torch.cos(at * rate)
    return codes


def causal_mask(length: int) -> torch.Tensor:
    """length x length, true where a position (row) may look (column)."""
    return torch.tril(torch.ones(length, length)) == 1


class Attention(nn.Module):
    """Multi-head attention of queries x (BxTxD) to memory (BxSxD); mask (TxS) is true where looking is allowed."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x: torch.Tensor, memory: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        q, k, v = self.split(self.query(x)), self.split(self.key(memory)), self.split(self.value(memory))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        mixed = F.softmax(scores, dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


class FeedForward(nn.Sequential):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each normed first and added to its input (BxTxD)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.feed_forward = FeedForward(width, 2 * width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        h = self.norm1(x)
        x = x + self.attention(h, h, mask)
        return x + self.feed_forward(self.norm2(x))


class DecoderLayer(nn.Module):
    """As the encoder's layer, with attention to the encoder's output (BxSxD) between the two."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.self_attention = Attention(width, heads)
        self.cross_attention = Attention(width, heads)
        self.feed_forward = FeedForward(width, 2 * width)

    def forward(self, x: torch.Tensor, memory: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        h = self.norm1(x)
        x = x + self.self_attention(h, h, mask)
        x = x + self.cross_attention(self.norm2(x), memory)
        return x + self.feed_forward(self.norm3(x))
