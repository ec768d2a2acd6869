"""Mixture of experts that loops over the experts which some token chose.

Shazeer et al.: Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts Layer (ICLR 2017), in the form
common in today's language models. Dynamic: which experts run and on how many tokens (ragged gathers, ``index_add_``).
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, EXPERTS, TOP, TOKENS = 32, 6, 2, 5
SEEDS = (3, 9, 12, 0, 20, 22)


class Expert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class SparseMoe(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def forward(self, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Hidden states (5x32) to hidden states (5x32) and router logits (5x6)."""
        logits = self.router(hidden)
        weights, selected = torch.topk(F.softmax(logits, dim=1), TOP, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(hidden)
        mask = F.one_hot(selected, num_classes=EXPERTS).permute(2, 1, 0)
        hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()
        for expert in hit:
            slot, token = torch.where(mask[expert.item()])
            current = self.experts[expert.item()](hidden[token]) * weights[token, slot].unsqueeze(-1)
            out.index_add_(0, token, current)
        return out, logits


class MoeBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.moe1 = nn.LayerNorm(WIDTH), SparseMoe()
        self.norm2, self.moe2 = nn.LayerNorm(WIDTH), SparseMoe()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens (5x32) through two layers; also the router logits of both (2x5x6)."""
        y, first = self.moe1(self.norm1(x))
        x = x + y
        y, second = self.moe2(self.norm2(x))
        return x + y, torch.stack([first, second])


def model() -> nn.Module:
    torch.manual_seed(0)
    return MoeBlock().eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    """Tokens that lie near each other or apart, so that few or many experts are hit."""
    g = torch.Generator().manual_seed(seed)
    return (torch.randn(1, WIDTH, generator=g) + seed % 3 * torch.randn(TOKENS, WIDTH, generator=g),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
