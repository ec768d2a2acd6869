"""Matching of two point sets by Sinkhorn iterations in the log domain, which stop when the marginals fit.

Cuturi: Sinkhorn Distances: Lightspeed Computation of Optimal Transport (NeurIPS 2013), as a layer over learnt features.
Dynamic: how many iterations run before the break; the sizes of both sets.
"""

import math
from collections.abc import Iterator

import torch
from torch import nn

POINT, WIDTH, EPSILON, TOLERANCE, MAX_STEPS = 3, 16, 0.5, 1e-2, 50
SEEDS = (6, 1, 2, 0, 20)


class SinkhornMatcher(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Linear(POINT, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Point sets (Nx3, Mx3) to a transport plan (NxM) with uniform marginals, and the number of iterations."""
        distance = (self.features(a).unsqueeze(1) - self.features(b)).norm(dim=-1)
        kernel = -distance / EPSILON
        log_n, log_m = -math.log(a.shape[0]), -math.log(b.shape[0])
        u, v = torch.zeros(a.shape[0]), torch.zeros(b.shape[0])
        iterations = 0
        for _ in range(MAX_STEPS):
            u = log_n - torch.logsumexp(kernel + v, dim=1)
            v = log_m - torch.logsumexp(kernel + u.unsqueeze(1), dim=0)
            iterations += 1
            plan = torch.exp(kernel + u.unsqueeze(1) + v)
            if (plan.sum(dim=1) * a.shape[0] - 1).abs().max() < TOLERANCE:
                break
        return plan, iterations


def model() -> nn.Module:
    torch.manual_seed(0)
    net = SinkhornMatcher()
    with torch.no_grad():
        net.features[2].weight.mul_(3.0)  # costs large enough against EPSILON for 3 to 50 iterations
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    n, m = torch.randint(2, 9, (2,), generator=g).tolist()
    return torch.randn(n, POINT, generator=g), torch.randn(m, POINT, generator=g)


def example_inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
