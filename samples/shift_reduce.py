"""A shift-reduce parser that composes vectors: a buffer of words, a stack of phrases, and a classifier of actions.

Bowman, Gauthier, Rastogi, Gupta, Manning, Potts: A Fast Unified Model for Parsing and Sentence Understanding
(ACL 2016). Dynamic: the sentence's length and every action; buffer and stack are Python lists.
"""

from collections.abc import Iterator

import torch
from torch import nn

VOCABULARY, WIDTH, CLASSES, MAX_LENGTH, SHIFT, REDUCE = 60, 24, 3, 9, 0, 1
GAIN = 3.0  # on the untrained weights: the parser shifts and reduces about as often, in many orders
SEEDS = (0, 1, 2, 3, 6, 9)


class Parser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.empty = nn.Parameter(torch.randn(WIDTH))
        self.tracker = nn.GRUCell(3 * WIDTH, WIDTH)
        self.action = nn.Linear(WIDTH, 2)
        self.compose = nn.Sequential(nn.Linear(2 * WIDTH, 2 * WIDTH), nn.Tanh(), nn.Linear(2 * WIDTH, WIDTH), nn.Tanh())
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
        """Tokens (T, int64, T from 1 to 9) to logits (3) and the actions taken (0: shift, 1: reduce)."""
        buf = [self.words(token) for token in tokens.flip(0)]
        stack: list[torch.Tensor] = []
        state = torch.zeros(WIDTH)
        actions = []
        while len(buf) > 0 or len(stack) > 1:
            top = stack[-1] if len(stack) > 0 else self.empty
            below = stack[-2] if len(stack) > 1 else self.empty
            following = buf[-1] if len(buf) > 0 else self.empty
            state = self.tracker(torch.cat([top, below, following]), state)
            if len(buf) == 0:
                action = REDUCE
            elif len(stack) < 2:
                action = SHIFT
            else:
                action = int(self.action(state).argmax())
            if action == SHIFT:
                stack.append(buf.pop())
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(self.compose(torch.cat([left, right])))
            actions.append(action)
        return self.head(stack.pop()), actions


def model() -> nn.Module:
    torch.manual_seed(0)
    net = Parser()
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(GAIN)
    return net.eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    length = int(torch.randint(1, MAX_LENGTH + 1, (), generator=g))
    return (torch.randint(0, VOCABULARY, (length,), generator=g),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
