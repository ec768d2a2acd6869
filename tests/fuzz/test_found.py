"""Programs that the generator found, made small: each was wrong, or made the front end fail, once."""

from __future__ import annotations

import torch
from torch import nn

from tests.soundness.harness import check, randn


def test_an_argument_that_one_path_drops_and_another_changes():
    def program(x, y):
        if x.sum() > 0:
            if x[0] > 0:
                x = x * 2
        else:
            y.neg_()
        return x

    check(program, [(*a, *b) for a, b in zip(randn(3), randn(3, seed=1), strict=True)])


def test_an_argument_that_is_changed_and_stays():
    class Keeping(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = self.copy = torch.zeros(3)

        def forward(self, x):
            before = self.last + self.copy
            if x.sum() > 0:
                x.add_(1)
            self.last = x
            self.copy = x.clone()
            self.copy.add_(1)
            return before

    check(Keeping(), randn(3))


def test_an_alias_that_two_joins_lose():
    def program(x, y):
        first = x
        if x.sum() > 0:
            x = torch.ones(3)
        if (y.sum() > 0 and x[2] > -0.5) or torch:
            x.mul_(0.5)
        return first

    check(program, [(*a, *b) for a, b in zip(randn(3), randn(3, seed=1), strict=True)])


def test_a_generator_that_steps_through_a_loop_of_run_time():
    def steps(x, n):
        for i in range(n):
            for value in x:
                if value > i:
                    yield value

    def program(x, n):
        total = 0.0
        for value in steps(x, n.item()):
            total = total + value * 2
        return total, list(steps(x, n.item() + 1))

    check(program, [(*args, torch.tensor(n)) for n, args in enumerate(randn(3, count=4))])
