"""Image captions by GoogLeNet and an LSTM, greedily, word by word.

Vinyals, Toshev, Bengio, Erhan: Show and Tell: A Neural Image Caption Generator (CVPR 2015).
Dynamic: the image is the LSTM's first word and every word the next; the list of words grows until the end token, ten
words at most.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.googlenet import googlenet
from samples.blocks.images import random_image, random_images
from samples.blocks.init import he_init

SIZE, VOCABULARY, EMBED, HIDDEN, END, MAX_LENGTH = 256, 5000, 256, 512, 3126, 10
# The decoder's untrained weights are scaled up, so that captions depend on the image instead of repeating one word. The
# end token, and what is added to its score, are those for which the lengths of 30 captions varied most.
GAIN, END_BIAS = 3.0, 0.3894
SEEDS = (3, 4, 14, 11, 8, 17, 0, 5, 16, 1)  # one image for each length found


class Encoder(nn.Module):
    """Image (1x3xHxW) to one embedding (1x256)."""

    def __init__(self) -> None:
        super().__init__()
        self.features = googlenet()
        self.project = nn.Linear(1024, EMBED)
        self.norm = nn.BatchNorm1d(EMBED)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.norm(self.project(self.features(image).mean((2, 3))))


class Captioner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder()
        self.embedding = nn.Embedding(VOCABULARY, EMBED)
        self.lstm = nn.LSTM(EMBED, HIDDEN, batch_first=True)
        self.vocabulary = nn.Linear(HIDDEN, VOCABULARY)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Image (1x3x256x256) to the caption's words (1xlength, int64), end token included."""
        step = self.encoder(image).unsqueeze(1)
        states = None
        words = []
        for _ in range(MAX_LENGTH):
            hidden, states = self.lstm(step, states)
            word = self.vocabulary(hidden.squeeze(1)).argmax(dim=1)
            words.append(word)
            if word.item() == END:
                break
            step = self.embedding(word).unsqueeze(1)
        return torch.stack(words, dim=1)


def model() -> nn.Module:
    torch.manual_seed(0)
    net = Captioner()
    he_init(net)
    calibrate(net.encoder.eval())
    with torch.no_grad():
        for weight in net.lstm.parameters():
            weight.mul_(GAIN)
        net.vocabulary.bias[END] += END_BIAS
    return net.eval()


@torch.no_grad()
def calibrate(encoder: Encoder) -> None:
    """Gives the last norm the statistics of 32 small random images, so that it tells images apart."""
    images = torch.cat([random_image(64, seed) for seed in range(1000, 1032)])
    embeddings = encoder.project(encoder.features(images).mean((2, 3)))
    encoder.norm.running_mean = embeddings.mean(0)
    encoder.norm.running_var = embeddings.var(0)


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
