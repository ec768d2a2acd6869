"""PABEE: stops when the answer has not changed for several layers in a row.

Zhou, Xu, Ge, McAuley, Xu, Wei: BERT Loses Patience: Fast and Robust Inference with Early Exit (NeurIPS 2020).
Dynamic: how many layers run. The previous answer is None before the first layer, the patience counter starts anew
whenever the answer changes.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.transformer import EncoderLayer

VOCABULARY, WIDTH, HEADS, LAYERS, CLASSES, LENGTH, PATIENCE = 500, 64, 4, 8, 2, 16, 2
SEEDS = (0, 18, 12, 6, 8, 3)


class Pabee(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(EncoderLayer(WIDTH, HEADS) for _ in range(LAYERS))
        self.classifiers = nn.ModuleList(nn.Linear(WIDTH, CLASSES) for _ in range(LAYERS))

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, int]:
        """Tokens (1x16, int64) to logits (1x2) and the number of layers that were run."""
        x = self.words(tokens)
        patient_result = None
        patient_counter = 0
        calculated = 0
        for layer, classifier in zip(self.layers, self.classifiers, strict=True):
            calculated += 1
            x = layer(x)
            logits = classifier(x.mean(dim=1))
            labels = logits.argmax(dim=1)
            if patient_result is not None and torch.all(labels == patient_result.argmax(dim=1)):
                patient_counter += 1
            else:
                patient_counter = 0
            patient_result = logits
            if patient_counter == PATIENCE:
                break
        return patient_result, calculated


def model() -> nn.Module:
    torch.manual_seed(0)
    return Pabee().eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    return (torch.randint(0, VOCABULARY, (1, LENGTH), generator=torch.Generator().manual_seed(seed)),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
