"""Mixture of experts that sorts the tokens by expert and gives each its slice, by counts read on the host.

Dai et al.: DeepSeekMoE: Towards Ultimate Expert Specialization in Mixture-of-Experts Language Models (ACL 2024): many
small experts, and one that sees every token. Dynamic: which experts run and on how many tokens.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, EXPERTS, TOP, TOKENS = 32, 8, 2, 6
SEEDS = (0, 1, 4, 7)


class Expert(nn.Module):
    def __init__(self, inner: int) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(WIDTH, inner, bias=False), nn.Linear(WIDTH, inner, bias=False)
        self.down = nn.Linear(inner, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class SharedAndRoutedMoe(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Expert(WIDTH // 2) for _ in range(EXPERTS))
        self.shared = Expert(WIDTH)

    def routed(self, x: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Sum over the chosen experts (TxK) of what they make of tokens x (TxD), by weights (TxK)."""
        counts = F.one_hot(chosen, EXPERTS).sum(dim=(0, 1)).tolist()
        order = chosen.flatten().argsort(stable=True)
        tokens = order // TOP
        slots = x[tokens]
        outputs, start = [], 0
        for i, n in enumerate(counts):
            if n == 0:
                continue
            outputs.append(self.experts[i](slots[start : start + n]))
            start += n
        weighted = torch.cat(outputs) * weights.flatten()[order].unsqueeze(1)
        return torch.zeros_like(x).index_add(0, tokens, weighted)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = self.router(x).softmax(dim=-1).topk(TOP, dim=-1)
        return self.shared(x) + self.routed(x, chosen, weights)


class MoeBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.layers = nn.ModuleList(SharedAndRoutedMoe() for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Tokens (6x32) through two layers."""
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x))
        return x


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
