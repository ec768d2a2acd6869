"""Batched greedy decoding of a recurrent sequence-to-sequence model into a preallocated buffer.

Sutskever, Vinyals, Le: Sequence to Sequence Learning with Neural Networks (NeurIPS 2014), with GRUs (Cho et al. 2014).
Dynamic: the loop ends when every sentence of the batch has met its end token; finished ones are padded meanwhile.
"""

from collections.abc import Iterator

import torch
from torch import nn

VOCABULARY, WIDTH, BATCH, LENGTH, MAX_LENGTH, PAD, BOS, EOS = 50, 32, 3, 6, 20, 0, 1, 2
# On the untrained weights, and on the end token's score: sentences of 1 to 20 tokens occur.
GAIN, EOS_BIAS = 3.0, 0.6
SEEDS = (8, 10, 2, 47, 12)


class Seq2Seq(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(VOCABULARY, WIDTH)
        self.encoder = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.decoder = nn.GRUCell(WIDTH, WIDTH)
        self.vocabulary = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, source: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Source tokens (3x6, int64) to target tokens (3x20, int64, padded with 0) and their lengths (3)."""
        _, state = self.encoder(self.source(source))
        h = state[0]
        batch = source.shape[0]
        out = torch.full((batch, MAX_LENGTH), PAD)
        lengths = torch.zeros(batch, dtype=torch.int64)
        done = torch.zeros(batch, dtype=torch.bool)
        token = torch.full((batch,), BOS)
        for t in range(MAX_LENGTH):
            h = self.decoder(self.target(token), h)
            token = self.vocabulary(h).argmax(dim=1)
            token = torch.where(done, PAD, token)
            out[:, t] = token
            lengths += ~done
            done = done | (token == EOS)
            if done.all():
                break
        return out, lengths


def model() -> nn.Module:
    torch.manual_seed(0)
    net = Seq2Seq()
    with torch.no_grad():
        for layer in (net.encoder, net.decoder):
            for weight in layer.parameters():
                weight.mul_(GAIN)
        net.vocabulary.bias[EOS] += EOS_BIAS
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    return (torch.randint(3, VOCABULARY, (BATCH, LENGTH), generator=torch.Generator().manual_seed(seed)),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
