"""Child-sum Tree-LSTM over a tree that is given as a tensor of parents.

Tai, Socher, Manning: Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks (ACL 2015).
Dynamic: the shape of the tree; leaves and inner nodes take different paths.
"""

from collections.abc import Iterator

import torch
from torch import nn

VOCABULARY, WIDTH, CLASSES, NODES = 50, 24, 5, 7
SEEDS = (4, 0, 1, 31)


class TreeLstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.iou_x, self.iou_h = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.forget_x, self.forget_h = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH, bias=False)
        self.head = nn.Linear(WIDTH, CLASSES)

    def node(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """One node's state (24, 24) from its word (24) and its children's states (Kx24 each)."""
        i, o, u = (self.iou_x(x) + self.iou_h(h.sum(dim=0))).chunk(3)
        forget = torch.sigmoid(self.forget_x(x) + self.forget_h(h))
        state = torch.sigmoid(i) * torch.tanh(u) + (forget * c).sum(dim=0)
        return torch.sigmoid(o) * torch.tanh(state), state

    def leaf(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        i, o, u = self.iou_x(x).chunk(3)
        state = torch.sigmoid(i) * torch.tanh(u)
        return torch.sigmoid(o) * torch.tanh(state), state

    def forward(self, tokens: torch.Tensor, parents: torch.Tensor) -> torch.Tensor:
        """Tokens (7, int64) and parents (7, int64, each greater than its child, -1 at the root) to logits (5)."""
        x = self.words(tokens)
        h, c = torch.zeros_like(x), torch.zeros_like(x)
        for n in range(tokens.shape[0]):
            children = torch.nonzero(parents == n).flatten()
            if children.numel() == 0:
                h[n], c[n] = self.leaf(x[n])
            else:
                h[n], c[n] = self.node(x[n], h[children], c[children])
        return self.head(h[-1])


def model() -> nn.Module:
    torch.manual_seed(0)
    return TreeLstm().eval()


def draw(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    parents = [int(torch.randint(n + 1, NODES, (), generator=g)) for n in range(NODES - 1)]
    return torch.randint(0, VOCABULARY, (NODES,), generator=g), torch.tensor([*parents, -1])


def example_inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
