"""Beam search of a recurrent decoder whose beam shrinks by one with every sentence that is complete.

Graves: Sequence Transduction with Recurrent Neural Networks (2012); in the form usual for captions, after
Xu et al.: Show, Attend and Tell (ICML 2015). Dynamic: the beam's width, the loop's length, the list of sentences.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

FEATURES, WIDTH, VOCABULARY, BEAM, MAX_LENGTH, BOS, EOS = 16, 32, 40, 4, 10, 0, 1
GAIN, EOS_BIAS = 3.0, 0.8  # on the untrained weights, and on the end token's score: beams end at all lengths
SEEDS = (0, 6, 8, 9, 10, 11)


class Captioner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.init_h, self.init_c = nn.Linear(FEATURES, WIDTH), nn.Linear(FEATURES, WIDTH)
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.cell = nn.LSTMCell(WIDTH, WIDTH)
        self.vocabulary = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, features: torch.Tensor) -> tuple[list[int], float]:
        """Features (1x16) to the tokens of the best sentence and its log-probability."""
        k = BEAM
        h, c = self.init_h(features).expand(k, -1), self.init_c(features).expand(k, -1)
        sequences = torch.full((k, 1), BOS)
        scores = torch.zeros(k)
        complete_sequences: list[list[int]] = []
        complete_scores: list[float] = []
        step = 1
        while True:
            h, c = self.cell(self.words(sequences[:, -1]), (h, c))
            logp = F.log_softmax(self.vocabulary(h), dim=1) + scores.unsqueeze(1)
            # At first all beams are the same.
            scores, best = logp[0].topk(k) if step == 1 else logp.view(-1).topk(k)
            beam, word = best // VOCABULARY, best % VOCABULARY
            sequences = torch.cat([sequences[beam], word.unsqueeze(1)], dim=1)
            complete = [i for i, w in enumerate(word) if w == EOS]
            incomplete = [i for i, w in enumerate(word) if w != EOS]
            if len(complete) > 0:
                complete_sequences.extend(sequences[complete].tolist())
                complete_scores.extend(scores[complete].tolist())
                k -= len(complete)
            if k == 0:
                break
            if step == MAX_LENGTH:
                complete_sequences.extend(sequences[incomplete].tolist())
                complete_scores.extend(scores[incomplete].tolist())
                break
            sequences, scores = sequences[incomplete], scores[incomplete]
            h, c = h[beam[incomplete]], c[beam[incomplete]]
            step += 1
        score = max(complete_scores)
        return complete_sequences[complete_scores.index(score)], score


def model() -> nn.Module:
    torch.manual_seed(0)
    net = Captioner()
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(GAIN)
        net.vocabulary.bias[EOS] += EOS_BIAS
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    return (torch.randn(1, FEATURES, generator=torch.Generator().manual_seed(seed)),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
