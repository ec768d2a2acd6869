"""Rule L: the cost of exploring grows with the program, not with its paths."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.soundness.harness import check, randn, refused
from toolchain.frontend import Call, explore, explorer
from toolchain.frontend.machine.interpreter import Machine


class Gated(nn.Module):
    """A chain of layers, each of which may be skipped."""

    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            if x.mean() > 0:
                x = layer(x)
        return x


class Paired(Gated):
    """The same, over a generator, whose own position tells the iterations apart."""

    def forward(self, x):
        for n, layer in enumerate(self.layers):
            if x[0, 0] > n:
                x = layer(x)
        return x


class Exits(Gated):
    """A chain of layers, after each of which the network may stop."""

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            if x.mean() > 0.5:
                return x
        return x


def _explored(module):
    runs = []
    module.eval().requires_grad_(False)
    program = explore(module, [Call((torch.randn(2, 2),), {})], progress=runs.append)
    return runs[-1], sum(len(f.blocks) for f in program.functions)


@pytest.mark.parametrize("depth", [25, 100, pytest.param(200, marks=pytest.mark.slow)])
def test_gates(depth):
    assert _explored(Gated(depth)) == (3 * depth + 2, 3 * depth + 1)


def test_iterations_of_an_unrolled_loop_are_no_variants(monkeypatch):
    monkeypatch.setattr(explorer, "_MOST_VARIANTS", 4)
    assert _explored(Paired(12)) == (3 * 12 + 2, 3 * 12 + 1)


def test_exits():
    small, large = _explored(Exits(25)), _explored(Exits(100))
    assert large[0] <= 4 * small[0] + 8
    assert large[1] <= 4 * small[1] + 8


class Parser(torch.nn.Module):
    """Shifts rows onto a stack and reduces them; below an empty stack lies a parameter."""

    def __init__(self):
        super().__init__()
        self.empty = torch.nn.Parameter(torch.ones(2))
        self.compose = torch.nn.Linear(4, 2)

    def forward(self, x):
        rows = [row * 1 for row in x]
        stack = []
        while rows or len(stack) > 1:
            top = stack[-1] if stack else self.empty
            if not rows:
                action = 1
            elif len(stack) < 2:
                action = 0
            else:
                action = int(top.argmax())
            if action == 0:
                stack.append(rows.pop())
            else:
                stack.append(self.compose(torch.cat([stack.pop(), stack.pop()])))
        return stack.pop()


def test_a_stack_that_a_loop_fills_and_empties():
    """What one round of the loop learns about the parameter is still known in the next."""
    program = check(Parser(), [(torch.randn(n, 2),) for n in (1, 3, 5, 4)])
    assert program is not None
    assert sum(len(f.blocks) for f in program.functions) == 25


def test_gates_are_right():
    check(Gated(6), [(torch.randn(2, 2),) for _ in range(8)])


def test_a_loop_of_constants_without_an_end(monkeypatch):
    def program(x):
        total = 0
        for i in range(10**9):
            total += i
        return x + total

    monkeypatch.setattr(Machine, "most_instructions", 5000)
    refusal = refused(program, randn(3), "TC101")
    assert refusal.problems[0].line - program.__code__.co_firstlineno in (2, 3)
