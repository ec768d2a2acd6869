"""Rule C: the program is a loop over its calls; what calls leave behind is explored until it is stable."""

from __future__ import annotations

import torch
from torch import nn

from tests.soundness.harness import check, randn


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = None

    def forward(self, x):
        self.cache = x if self.cache is None else torch.cat([self.cache, x])
        return self.cache.sum(), self.cache.shape[0]


def test_a_cache_that_is_none_at_first():
    program = check(Cache(), randn(3))
    assert program is not None
    assert len(program.states) == 2


def test_a_cache_of_one_shape():
    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = None

        def forward(self, x):
            self.mean = x if self.mean is None else 0.5 * self.mean + 0.5 * x
            return x - self.mean if x.sum() > 0 else self.mean

    check(Running(), randn(3))


def test_buffers_attributes_and_decisions_on_both():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("steps", torch.zeros(()))
            self.register_buffer("mean", torch.zeros(3))
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            self.steps += 1
            if x.sum() > 0:
                self.mean.mul_(0.9).add_(x, alpha=0.1)
            return self.mean if self.steps > 3 else x * self.calls

    check(Counting(), randn(3))


def test_a_window_of_the_last_calls():
    class Window(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = []

        def forward(self, x):
            self.last.append(x)
            if len(self.last) > 3:
                self.last.pop(0)
            return torch.stack(self.last).sum(0)

    program = check(Window(), randn(3))
    assert program is not None
    assert len(program.states) == 4


def test_the_state_stays_when_the_call_raises():
    class Fragile(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            if x.sum() > 0:
                raise ValueError(f"call {self.calls}")
            return x + self.calls

    check(Fragile(), randn(3, count=10))


def test_hooks_with_state():
    class Hooked(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.seen = 0
            self.layer.register_forward_hook(self.hook)
            self.layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))

        def hook(self, module, args, output):
            self.seen += 1
            return output + 1 if output.sum() > 0 else None

        def forward(self, x):
            return self.layer(x), self.seen

    check(Hooked(), randn(2, 4))


def test_a_flag_that_switches_on_data():
    class Latch(nn.Module):
        def __init__(self):
            super().__init__()
            self.on = False

        def forward(self, x):
            if x.sum() > 1:
                self.on = True
            return x * 2 if self.on else x

    check(Latch(), randn(3, count=12))


def test_a_number_of_run_time_that_stays():
    class Best(nn.Module):
        def __init__(self):
            super().__init__()
            self.best = float("-inf")

        def forward(self, x):
            value = x.max().item()
            if value > self.best:
                self.best = value
            return self.best

    check(Best(), randn(3, count=12))
