"""Deep equilibrium model: the output is a fixed point, found by iterating one layer with Anderson acceleration.

Bai, Kolter, Koltun: Deep Equilibrium Models (NeurIPS 2019).
Dynamic: how many iterations the solver takes.
"""

from collections.abc import Iterator

import torch
from torch import nn

WIDTH, INPUT, CLASSES, TOLERANCE, MAX_STEPS = 32, 16, 10, 1e-3, 40
SEEDS = (19, 4, 1, 7, 0, 11)


class Cell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inject = nn.Linear(INPUT, WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)

    def forward(self, z: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.mix(z) + self.inject(x))


class DeepEquilibrium(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = Cell()
        self.head = nn.Linear(WIDTH, CLASSES)

    def solve(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        z = torch.zeros(x.shape[0], WIDTH)
        f = self.cell(z, x)
        residual = (f - z).norm() / f.norm()
        k = 0
        while residual > TOLERANCE and k < MAX_STEPS:
            z_next, f_next = f, self.cell(f, x)
            g, g_next = f - z, f_next - z_next
            change = g_next - g
            alpha = (g_next * change).sum() / (change.pow(2).sum() + 1e-8)
            mixed = f_next - alpha * (f_next - f)
            z, f = mixed, self.cell(mixed, x)
            residual = (f - z).norm() / f.norm()
            k += 1
        return f, k

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Features (1x16) to logits (1x10) and the number of iterations."""
        z, k = self.solve(x)
        return self.head(z), k


def model() -> nn.Module:
    torch.manual_seed(0)
    net = DeepEquilibrium()
    with torch.no_grad():
        net.cell.mix.weight.mul_(1.7)  # more than ten iterations where the input is small
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return (torch.exp2(4 * torch.rand(1, generator=g) - 3) * torch.randn(1, INPUT, generator=g),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
