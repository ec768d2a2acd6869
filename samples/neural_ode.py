"""Neural ODE, integrated by Dormand and Prince's method with step-size control.

Chen, Rubanova, Bettencourt, Duvenaud: Neural Ordinary Differential Equations (NeurIPS 2018).
Dynamic: how many steps are tried, and which of them are accepted.
"""

from collections.abc import Iterator

import torch
from torch import nn

INPUT, WIDTH, CLASSES, RTOL, ATOL, MAX_STEPS = 8, 16, 4, 1e-4, 1e-5, 60
SEEDS = (4, 1, 0, 3, 33)
# Dormand and Prince (1980): the stages' weights (the last row is the fifth-order solution's) and the error estimate's.
A = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
E = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


class Field(nn.Module):
    """The autonomous right-hand side."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(WIDTH, 32), nn.Tanh(), nn.Linear(32, WIDTH))

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        return self.net(y)


class NeuralODE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lift = nn.Linear(INPUT, WIDTH)
        self.field = Field()
        self.head = nn.Linear(WIDTH, CLASSES)

    def step(
        self, y: torch.Tensor, k1: torch.Tensor, dt: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The next state, the slope there and the error's size relative to the tolerance."""
        ks = [k1]
        for row in A:
            y_next = y + dt * sum(a * k for a, k in zip(row, ks, strict=True))
            ks.append(self.field(y_next))
        error = dt * sum(e * k for e, k in zip(E, ks, strict=True))
        scale = ATOL + RTOL * torch.maximum(y.abs(), y_next.abs())
        return y_next, ks[-1], (error / scale).pow(2).mean().sqrt()

    def integrate(self, y: torch.Tensor) -> tuple[torch.Tensor, int, int]:
        t, dt = torch.zeros(()), torch.tensor(0.25)
        k = self.field(y)
        accepted = rejected = 0
        while t < 1.0:
            if accepted + rejected >= MAX_STEPS:
                raise RuntimeError("the step size became too small")
            dt = torch.minimum(dt, 1.0 - t)
            y_next, k_next, ratio = self.step(y, k, dt)
            if ratio <= 1:
                t, y, k = t + dt, y_next, k_next
                accepted += 1
            else:
                rejected += 1
            dt = dt * torch.clamp(0.9 * (ratio + 1e-10) ** -0.2, 0.2, 5.0)
        return y, accepted, rejected

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int, int]:
        """Features (1x8) to logits (1x4), accepted and rejected steps."""
        y, accepted, rejected = self.integrate(self.lift(x))
        return self.head(y), accepted, rejected


def model() -> nn.Module:
    torch.manual_seed(0)
    net = NeuralODE()
    with torch.no_grad():
        for weight in net.field.parameters():
            weight.mul_(4.0)  # stiff enough for rejected steps
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    return (3 * torch.randn(1, INPUT, generator=torch.Generator().manual_seed(seed)),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
