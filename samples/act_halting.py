"""Universal Transformer with adaptive computation time: one layer is applied until every position has halted.

Dehghani, Gouws, Vinyals, Uszkoreit, Kaiser: Universal Transformers (ICLR 2019); Graves: Adaptive Computation Time for
Recurrent Neural Networks (2016). Dynamic: how many times the layer runs, and the sentence's length.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.transformer import EncoderLayer, positions

VOCABULARY, WIDTH, HEADS, MAX_HOPS, MAX_LENGTH, THRESHOLD = 200, 32, 4, 8, 24, 0.9
GAIN = 4.0  # on the halting unit's untrained weights: two to eight hops occur
SEEDS = (2, 1, 0, 19, 6)


class UniversalTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.register_buffer("places", positions(MAX_LENGTH, WIDTH))
        self.register_buffer("times", positions(MAX_HOPS, WIDTH))
        self.layer = EncoderLayer(WIDTH, HEADS)
        self.halt = nn.Linear(WIDTH, 1)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens (1xT, int64, T up to 24) to logits (1xTx200) and how often each position was updated (1xT)."""
        state = self.words(tokens)
        halting = torch.zeros(state.shape[:2])
        remainders, updates = torch.zeros_like(halting), torch.zeros_like(halting)
        previous = torch.zeros_like(state)
        step = 0
        while ((halting < THRESHOLD) & (updates < MAX_HOPS)).any():
            state = state + self.places[: state.shape[1]] + self.times[step]
            p = torch.sigmoid(self.halt(state)).squeeze(-1)
            running = (halting < 1.0).float()
            new_halted = (halting + p * running > THRESHOLD).float() * running
            running = (halting + p * running <= THRESHOLD).float() * running
            halting = halting + p * running
            remainders = remainders + new_halted * (1 - halting)
            halting = halting + new_halted * remainders
            updates = updates + running + new_halted
            weight = (p * running + new_halted * remainders).unsqueeze(-1)
            state = self.layer(state)
            previous = state * weight + previous * (1 - weight)
            step += 1
        return self.head(self.norm(previous)), updates


def model() -> nn.Module:
    torch.manual_seed(0)
    net = UniversalTransformer()
    with torch.no_grad():
        net.halt.weight.mul_(GAIN)
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    length = int(torch.randint(2, MAX_LENGTH + 1, (), generator=g))
    return (torch.randint(0, VOCABULARY, (1, length), generator=g),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
