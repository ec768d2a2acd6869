"""DeeBERT: a highway after each encoder layer leaves by raising an exception, which the classifier catches.

Xin, Tang, Lee, Yu, Lin: DeeBERT: Dynamic Early Exiting for Accelerating BERT Inference (ACL 2020).
Dynamic: after how many layers the exception is raised, if at all; the sentence's length varies too.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from samples.blocks.transformer import EncoderLayer

VOCABULARY, WIDTH, HEADS, LAYERS, CLASSES, MAX_LENGTH = 500, 64, 4, 6, 3, 32
# The factor on the untrained highways' logits, and the entropy below which one leaves: all exits occur.
SHARPNESS, ENTROPY = 3.0, 0.35
SEEDS = (0, 2, 17, 1, 18, 6)


class HighwayException(Exception):
    def __init__(self, logits: torch.Tensor, layer: int) -> None:
        super().__init__()
        self.logits = logits
        self.layer = layer


def entropy(logits: torch.Tensor) -> torch.Tensor:
    log_p = F.log_softmax(logits, dim=1)
    return -(log_p.exp() * log_p).sum(dim=1)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(WIDTH, HEADS) for _ in range(LAYERS))
        self.highways = nn.ModuleList(nn.Linear(WIDTH, CLASSES) for _ in range(LAYERS - 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i, layer in enumerate(self.layers):
            x = layer(x)
            if i < len(self.highways):
                logits = self.highways[i](x[:, 0])
                if entropy(logits) < ENTROPY:
                    raise HighwayException(logits, i + 1)
        return x


class DeeBert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(MAX_LENGTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.encoder = Encoder()
        self.classifier = nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Tokens (1xT, int64, T up to 32) to logits (1x3) and the number of layers that were run."""
        exit_layer = LAYERS
        x = self.norm(self.words(tokens) + self.places(torch.arange(tokens.shape[1])))
        try:
            x = self.encoder(x)
            logits = self.classifier(x[:, 0])
        except HighwayException as e:
            logits = e.logits
            exit_layer = e.layer
        return logits, exit_layer


def model() -> nn.Module:
    torch.manual_seed(0)
    net = DeeBert()
    with torch.no_grad():
        for highway in net.encoder.highways:
            highway.weight.mul_(SHARPNESS)
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    length = int(torch.randint(4, MAX_LENGTH + 1, (), generator=g))
    return (torch.randint(0, VOCABULARY, (1, length), generator=g),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
