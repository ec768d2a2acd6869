"""Image captions by ResNeXt-50 and an LSTM that attends to the image, greedily, word by word.

Xu et al.: Show, Attend and Tell (ICML 2015) over ResNeXt-50 (Xie et al. 2017).
Dynamic: every word decides what comes next; the caption grows until the end token, ten words at most.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import damp_residuals, he_init
from samples.blocks.resnext import resnext50

SIZE, VOCABULARY, WIDTH, START, END, MAX_LENGTH = 256, 5000, 512, 0, 2473, 10
# The decoder's untrained weights are scaled up, so that captions depend on the image instead of repeating one word. The
# end token is the word whose first place varied most over 30 random images: half of the captions run to the limit.
GAIN = 2.0
SEEDS = (20, 0, 7, 4, 33, 24, 2, 1)  # one image for each length found


class Attention(nn.Module):
    """Weighs the places of the image by what the decoder knows."""

    def __init__(self, features: int, hidden: int, width: int = 256) -> None:
        super().__init__()
        self.from_features = nn.Linear(features, width)
        self.from_hidden = nn.Linear(hidden, width)
        self.score = nn.Linear(width, 1)

    def forward(self, features: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        e = self.score(F.relu(self.from_features(features) + self.from_hidden(h).unsqueeze(1)))
        return (features * F.softmax(e, dim=1)).sum(dim=1)


class Captioner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = resnext50()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.attention = Attention(2048, WIDTH)
        self.init_h = nn.Linear(2048, WIDTH)
        self.init_c = nn.Linear(2048, WIDTH)
        self.attend_gate = nn.Linear(WIDTH, 2048)
        self.step = nn.LSTMCell(WIDTH + 2048, WIDTH)
        self.vocabulary = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Image (1x3x256x256) to the caption (1 + its length, int64), start token first, end token included."""
        features = self.encoder(image).flatten(2).transpose(1, 2)
        mean = features.mean(dim=1)
        h, c = torch.tanh(self.init_h(mean)), self.init_c(mean)
        word = torch.full((1,), START)
        caption = word
        for _ in range(MAX_LENGTH):
            seen = torch.sigmoid(self.attend_gate(h)) * self.attention(features, h)
            h, c = self.step(torch.cat([self.embedding(word), seen], dim=1), (h, c))
            word = self.vocabulary(h).argmax(dim=1)
            caption = torch.cat([caption, word])
            if word == END:
                return caption
        return caption


def model() -> nn.Module:
    torch.manual_seed(0)
    net = Captioner()
    damp_residuals(he_init(net), "bn3", 0.25)
    with torch.no_grad():
        for layer in (net.init_h, net.step):
            for weight in layer.parameters():
                weight.mul_(GAIN)
    return net.eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
