"""A recurrent language model with adaptive softmax: rare words live in clusters that are only asked when needed.

Grave, Joulin, Cissé, Grangier, Jégou: Efficient softmax approximation for GPUs (ICML 2017), as in PyTorch.
Dynamic: which clusters the targets hit, with how many words each, and whether best guesses lie outside the shortlist.
"""

from collections.abc import Iterator

import torch
from torch import nn

VOCABULARY, WIDTH, LENGTH, CUTOFFS = 100, 32, 5, (10, 40)
GAIN = 6.0  # on the untrained scores of the two clusters, so that they are expected now and then
SEEDS = (0, 3, 4, 5, 6, 11, 25)


class LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.rnn = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(WIDTH, VOCABULARY, list(CUTOFFS), div_value=2.0)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Tokens (1x6, int64) to the log-probabilities (5) of the last five, their loss, and what was expected (5)."""
        hidden, _ = self.rnn(self.words(tokens[:, :-1]))
        logp, loss = self.softmax(hidden[0], tokens[0, 1:])
        return logp, loss, self.softmax.predict(hidden[0])


def model() -> nn.Module:
    torch.manual_seed(0)
    net = LanguageModel()
    with torch.no_grad():
        net.softmax.head.weight[CUTOFFS[0] :].mul_(GAIN)
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    """Words as frequent as Zipf says: most are in the shortlist."""
    uniform = torch.rand(1, LENGTH + 1, generator=torch.Generator().manual_seed(seed))
    return ((VOCABULARY**uniform).long() - 1,)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
