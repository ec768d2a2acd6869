"""Small programs to verify; each builds within seconds."""

from __future__ import annotations

import torch
from torch import nn


class Gate(nn.Module):
    """One decision; both sides are reached by some input."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        if y.sum() > 0:
            return y * 2
        return y - 1


class Rare(nn.Module):
    """A side that inputs do not reach by themselves, with an error of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(self.layer(x))
        if y.sum() > 100:
            y = y * 3
            if y.min() > 50:
                raise ValueError("far too large")
        return y + 1


class Loop(nn.Module):
    """Iterates for as long as the data say."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        steps = 0
        while x.abs().max() > 1:
            x = x / 2
            steps += 1
        return x, steps


class Counter(nn.Module):
    """Carries a buffer and an attribute from call to call; behaves otherwise from the third call on."""

    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total += x.abs().sum()
        if self.total > 6:
            return x * 10
        return x + self.total


class Sized(nn.Module):
    """Decides by the extent."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 1000:
            return x * 3
        if x.shape[0] > 2:
            return x + 1
        return x * 2


class Strict(nn.Module):
    """Raises in the program's own words, and changes its argument."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = x.sum().item()
        if total < 0:
            raise ValueError(f"the sum {total:.3f} is negative")
        x.add_(1)
        return x * 2


def made(kind: type[nn.Module], seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return kind().eval()


class Near(nn.Module):
    """Decides by a threshold that a copy may have elsewhere; nothing else comes of it."""

    def __init__(self, threshold: float = 1.0) -> None:
        super().__init__()
        self.threshold = threshold

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > self.threshold:
            return x.abs().sum()
        return x.sum().abs()


class Lookup(nn.Module):
    """Catches what an operation raises: a decision that Python code does not see."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(5, 3)

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        try:
            return self.rows(index)
        except IndexError:
            return torch.zeros(1, 3)


class Cached(nn.Module):
    """The second call is another function; its rare side needs the first call and force."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.cache is None:
            self.cache = x * 2
            return x
        y = x + self.cache
        if y.sum() > 1000:
            y = y * 0
        self.cache = y
        return y
