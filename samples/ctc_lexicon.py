"""Speech recognition that spells and looks its words up: what is no word is decoded again by a larger network.

Graves, Fernandez, Gomez, Schmidhuber: Connectionist Temporal Classification (ICML 2006), with a lexicon behind it.
Dynamic: how many decoders run. Spelling and looking up are plain Python on the host, a host call.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

import toolchain

FEATURES, FRAMES, WIDTHS = 12, 16, (8, 16, 32)
# The symbols of a made-up language, in which words have one or two syllables; the first is CTC's blank.
SYMBOLS = ("", " ", "ka", "ri", "to", "me")
SYLLABLES = SYMBOLS[2:]
LEXICON = {*SYLLABLES, *(a + b for a, b in itertools.product(SYLLABLES, repeat=2))}
# On the untrained weights, and on the score of the space: of 60 random inputs the first decoder is right about 36, a
# later one about 13, and none about the others.
GAIN, SPACE_BIAS = 3.0, 1.0
SEEDS = (0, 3, 18, 4)


@toolchain.host_call
def spell(symbols: np.ndarray) -> tuple[str, int]:
    """The text of a frame-wise labelling, and how many of its words are not in the lexicon."""
    text = "".join(SYMBOLS[symbol] for symbol, _ in itertools.groupby(symbols.tolist()))
    words = text.split()
    return " ".join(words), sum(word not in LEXICON for word in words)


class Decoder(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(FEATURES, width), nn.Tanh(), nn.Linear(width, len(SYMBOLS)))

    def forward(self, audio: torch.Tensor) -> torch.Tensor:
        return self.layers(audio).argmax(-1)


class Recogniser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.decoders = nn.ModuleList(map(Decoder, WIDTHS))

    def forward(self, audio: torch.Tensor) -> tuple[str, int | None]:
        """Audio features (16x12) to the text and the decoder that it is from; None if the last one fails, too."""
        for level, decoder in enumerate(self.decoders):
            text, unknown = spell(decoder(audio))
            if unknown == 0:
                return text, level
        return text, None


def model() -> nn.Module:
    torch.manual_seed(0)
    net = Recogniser()
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(GAIN)
        for decoder in net.decoders:
            decoder.layers[2].bias[1] += SPACE_BIAS
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    return (torch.randn(FRAMES, FEATURES, generator=torch.Generator().manual_seed(seed)),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
