"""PonderNet: a recurrent cell that thinks again until a drawn coin says halt, for every element of the batch.

Banino, Balaguer, Blundell: PonderNet: Learning to Ponder (ICML workshop on automated machine learning, 2021).
Dynamic: how many steps run; the predictions of all of them are stacked. The coins are an argument.
"""

from collections.abc import Iterator

import torch
from torch import nn

FEATURES, WIDTH, CLASSES, BATCH, MAX_STEPS = 16, 32, 4, 3, 12
HALT_BIAS = -0.9  # on the untrained halting score: a step halts with a probability of about 0.3
SEEDS = (0, 1, 5, 6, 10, 12, 13)


class PonderNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(FEATURES, WIDTH)
        self.halt = nn.Linear(WIDTH, 1)
        self.output = nn.Linear(WIDTH, CLASSES)

    def forward(
        self, x: torch.Tensor, coins: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Features (3x16) and coins (12x3, uniform in 0 to 1) to what training and inference need of N steps.

        Halting probabilities (Nx3) and logits (Nx3x4) of every step, logits (3x4) of the step that each element halted
        at, and that step's number (3, int64).
        """
        h = x.new_zeros(x.shape[0], WIDTH)
        unhalted = torch.ones(x.shape[0])
        steps = torch.zeros(x.shape[0], dtype=torch.int64)
        answer = torch.zeros(x.shape[0], CLASSES)
        halted = torch.zeros(x.shape[0], dtype=torch.bool)
        probabilities, logits = [], []
        for n in range(MAX_STEPS):
            h = self.cell(x, h)
            last = n == MAX_STEPS - 1
            chance = torch.ones(x.shape[0]) if last else torch.sigmoid(self.halt(h)).squeeze(1)
            y = self.output(h)
            probabilities.append(unhalted * chance)
            logits.append(y)
            unhalted = unhalted * (1 - chance)
            halts = (coins[n] < chance) & ~halted
            answer[halts] = y[halts]
            steps[halts] = n + 1
            halted |= halts
            if halted.all():
                break
        return torch.stack(probabilities), torch.stack(logits), answer, steps


def model() -> nn.Module:
    torch.manual_seed(0)
    net = PonderNet()
    with torch.no_grad():
        net.halt.bias += HALT_BIAS
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return torch.randn(BATCH, FEATURES, generator=g), torch.rand(MAX_STEPS, BATCH, generator=g)


def example_inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
