"""FastSpeech's length regulator: every phoneme is repeated for as many frames as the duration predictor says.

Ren et al.: FastSpeech: Fast, Robust and Controllable Text to Speech (NeurIPS 2019).
Dynamic: the number of frames; a sentence for which nothing was predicted gets one frame a phoneme.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.transformer import EncoderLayer

PHONEMES, WIDTH, HEADS, MELS, MAX_LENGTH, MAX_FRAMES = 40, 32, 4, 20, 12, 64
GAIN, SHIFT = 3.0, 0.2  # on the untrained predictor: sentences without any frame and with more than 64 occur
SEEDS = (0, 9, 2, 35)


class FastSpeech(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.phonemes = nn.Embedding(PHONEMES, WIDTH)
        self.encoder = EncoderLayer(WIDTH, HEADS)
        self.durations = nn.Linear(WIDTH, 1)
        self.decoder = EncoderLayer(WIDTH, HEADS)
        self.mel = nn.Linear(WIDTH, MELS)

    def forward(self, phonemes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Phonemes (1xT, int64, T up to 12) to a spectrogram (1xFx20, F up to 64) and durations (T, int64)."""
        x = self.encoder(self.phonemes(phonemes))
        durations = torch.exp(self.durations(x)[0, :, 0]).sub(1.0).round().clamp(min=0).long()
        if durations.sum() == 0:
            durations = torch.ones_like(durations)
        frames = torch.repeat_interleave(x[0], durations, dim=0).unsqueeze(0)
        if frames.shape[1] > MAX_FRAMES:
            frames = frames[:, :MAX_FRAMES]
        return self.mel(self.decoder(frames)), durations


def model() -> nn.Module:
    torch.manual_seed(0)
    net = FastSpeech()
    with torch.no_grad():
        net.durations.weight.mul_(GAIN)
        net.durations.bias.fill_(SHIFT)
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    length = int(torch.randint(1, MAX_LENGTH + 1, (), generator=g))
    return (torch.randint(0, PHONEMES, (1, length), generator=g),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
