"""Decoding with temperature fallback: a transcript that is improbable or repeats itself is decoded again, hotter.

Radford, Kim, Xu, Brockman, McLeavey, Sutskever: Robust Speech Recognition via Large-Scale Weak Supervision (ICML 2023).
Dynamic: how many tokens a try has and how many tries are made. Sampling takes its Gumbel noise as an argument.
"""

import itertools
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

FEATURES, WIDTH, VOCABULARY, EOS, MAX_LENGTH = 12, 32, 40, 0, 8
TEMPERATURES = (0.0, 0.4, 0.8)
GAIN, EOS_BIAS = 4.0, 0.0  # on the untrained weights, and on the end token's score
# On 60 random inputs half of the greedy tries fall back, and half of those again.
LOGPROB_THRESHOLD, REPETITION_THRESHOLD = -1.5, 0.5
SEEDS = (0, 27, 3, 5, 8, 14, 9, 2)


class Recogniser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(FEATURES, WIDTH)
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.decoder = nn.GRUCell(WIDTH, WIDTH)
        self.vocabulary = nn.Linear(WIDTH, VOCABULARY)

    def decode(self, h: torch.Tensor, temperature: float, noise: torch.Tensor) -> tuple[list[int], float]:
        """One try: tokens and their mean log-probability. noise: 8x40, one row a token."""
        token, tokens, total = torch.full((1,), EOS), [], 0.0
        for t in range(MAX_LENGTH):
            h = self.decoder(self.embedding(token), h)
            logp = F.log_softmax(self.vocabulary(h), dim=1)
            scores = logp if temperature == 0 else logp / temperature + noise[t]
            token = scores.argmax(dim=1)
            total += logp[0, token].item()
            if token.item() == EOS:
                break
            tokens.append(token.item())
        return tokens, total / (len(tokens) + 1)

    def repeats(self, tokens: list[int]) -> float:
        """The share of tokens that equal the one before."""
        same = 0
        for a, b in itertools.pairwise(tokens):
            if a == b:
                same += 1
        return same / max(len(tokens), 1)

    def forward(self, audio: torch.Tensor, noise: torch.Tensor) -> tuple[list[int], float]:
        """Audio features (1x12) and Gumbel noise (3x8x40) to tokens and the temperature that gave them."""
        h = torch.tanh(self.encoder(audio))
        for i, temperature in enumerate(TEMPERATURES):
            tokens, logprob = self.decode(h, temperature, noise[i])
            needs_fallback = False
            if self.repeats(tokens) > REPETITION_THRESHOLD:
                needs_fallback = True
            if logprob < LOGPROB_THRESHOLD:
                needs_fallback = True
            if not needs_fallback:
                break
        return tokens, temperature


def model() -> nn.Module:
    torch.manual_seed(0)
    net = Recogniser()
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(GAIN)
        net.vocabulary.bias[EOS] += EOS_BIAS
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    uniform = torch.rand(len(TEMPERATURES), MAX_LENGTH, VOCABULARY, generator=g).clamp(1e-6, 1 - 1e-6)
    return torch.randn(1, FEATURES, generator=g), -torch.log(-torch.log(uniform))


def example_inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
