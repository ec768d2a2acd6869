"""RNN transducer, decoded greedily: for every frame, symbols are emitted until the joint network says blank.

Graves: Sequence Transduction with Recurrent Neural Networks (2012).
Dynamic: two nested loops, over the frames that the length gives and over the symbols of a frame.
"""

from collections.abc import Iterator

import torch
from torch import nn

FEATURES, WIDTH, VOCABULARY, BLANK, FRAMES, MAX_SYMBOLS = 8, 24, 20, 0, 10, 3
# On the untrained weights, and on the blank's score: about half of the frames are blank.
GAIN, BLANK_BIAS = 3.0, 1.0
SEEDS = (5, 15, 9, 69, 11, 3)


class Transducer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.LSTM(FEATURES, WIDTH, batch_first=True)
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.prediction = nn.LSTMCell(WIDTH, WIDTH)
        self.from_encoder, self.from_prediction = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.joint = nn.Linear(WIDTH, VOCABULARY)

    def join(self, frame: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        return self.joint(torch.tanh(self.from_encoder(frame) + self.from_prediction(g)))

    def forward(self, audio: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
        """Audio (1x10x8) and its number of frames (1, int64) to the symbols (variable number, int64)."""
        frames, _ = self.encoder(audio)
        symbol = torch.full((1,), BLANK)
        h, c = self.prediction(self.embedding(symbol))
        symbols = torch.empty(0, dtype=torch.int64)
        t = 0
        while t < length.item():
            emitted = 0
            while emitted < MAX_SYMBOLS:
                symbol = self.join(frames[:, t], h).argmax(dim=1)
                if symbol.item() == BLANK:
                    break
                symbols = torch.cat([symbols, symbol])
                h, c = self.prediction(self.embedding(symbol), (h, c))
                emitted += 1
            t += 1
        return symbols


def model() -> nn.Module:
    torch.manual_seed(0)
    net = Transducer()
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(GAIN)
        net.joint.bias[BLANK] += BLANK_BIAS
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return torch.randn(1, FRAMES, FEATURES, generator=g), torch.randint(0, FRAMES + 1, (1,), generator=g)


def example_inputs() -> tuple[torch.Tensor, torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor, torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
