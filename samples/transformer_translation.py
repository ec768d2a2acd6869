"""Translation by a Transformer, greedily, token by token, with the whole prefix decoded again for every token.

Vaswani et al.: Attention Is All You Need (NeurIPS 2017); the preliminary study of DyCL uses such a loop.
Dynamic: the sentence grows until the end token, 200 tokens at most; the source's length varies too.
"""

import math
from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.transformer import DecoderLayer, EncoderLayer, causal_mask, positions

VOCABULARY, WIDTH, HEADS, LAYERS, BOS, EOS, MAX_LENGTH = 1000, 128, 8, 3, 1, 121, 200
# The untrained weights are scaled up, so that sentences wander instead of repeating one token. EOS, and the bonus on
# its score, are those for which the lengths of 24 random sentences varied most.
GAIN, EOS_BIAS = 3.0, 0.5966
SEEDS = (2, 0, 3, 1, 7, 8)  # 14 tokens, 3, 8, 18, 45 and 201


class Translator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.source_embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.target_embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.register_buffer("positions", positions(MAX_LENGTH + 1, WIDTH))
        self.encoder = nn.ModuleList(EncoderLayer(WIDTH, HEADS) for _ in range(LAYERS))
        self.decoder = nn.ModuleList(DecoderLayer(WIDTH, HEADS) for _ in range(LAYERS))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.generator = nn.Linear(WIDTH, VOCABULARY)

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        x = self.source_embedding(source) * math.sqrt(WIDTH) + self.positions[: source.shape[1]]
        for layer in self.encoder:
            x = layer(x)
        return self.encoder_norm(x)

    def decode(self, ys: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        x = self.target_embedding(ys) * math.sqrt(WIDTH) + self.positions[: ys.shape[1]]
        mask = causal_mask(ys.shape[1])
        for layer in self.decoder:
            x = layer(x, memory, mask)
        return self.decoder_norm(x)

    def forward(self, source: torch.Tensor) -> torch.Tensor:
        """Source tokens (1xS, int64, S up to 200) to target tokens (1xT, int64), BOS first."""
        memory = self.encode(source)
        ys = torch.full((1, 1), BOS)
        for _ in range(MAX_LENGTH):
            out = self.decode(ys, memory)
            scores = self.generator(out[:, -1])
            token = scores.argmax(dim=1)
            ys = torch.cat([ys, token.unsqueeze(1)], dim=1)
            if token.item() == EOS:
                break
        return ys


def model() -> nn.Module:
    torch.manual_seed(0)
    net = Translator()
    with torch.no_grad():
        for layer in (*net.encoder, *net.decoder):
            for weight in layer.parameters():
                if weight.dim() == 2:
                    weight.mul_(GAIN)
        net.generator.bias[EOS] += EOS_BIAS
    return net.eval()


def sentence(seed: int) -> tuple[torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    length = int(torch.randint(4, 24, (), generator=g))
    return (torch.randint(2, VOCABULARY, (1, length), generator=g),)


def example_inputs() -> tuple[torch.Tensor]:
    return sentence(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield sentence(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [sentence(100_000 * (seed + 1) + i) for i in range(n)]
