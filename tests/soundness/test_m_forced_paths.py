"""Rule M: forced runs end: by themselves, or for want of fuel."""

from __future__ import annotations

import pytest
import torch

from tests.soundness.harness import check, randn
from toolchain.frontend import Call, explore
from toolchain.ir import Branch
from toolchain.ir.interpreter import FuelExhausted, Interpreter


def _halve(x):
    n = 0
    while x.norm() > 1:
        x = x / 2
        n += 1
    return x, n


def _explore(function, *args):
    return explore(function, [Call(args, {})])


def test_a_forced_loop_runs_out_of_fuel():
    program = _explore(_halve, torch.randn(3))
    with pytest.raises(FuelExhausted):
        Interpreter(program).call(0, [torch.zeros(3)], decide=lambda *_: True, fuel=50)


def test_forced_decisions_reach_every_edge():
    def program(x):
        if x.sum() > 1e9:
            x = x + 1
        return x * 2 if x[0] > 1e9 else x

    explored = _explore(program, torch.randn(3))
    taken = set()
    for first in (True, False):
        for second in (True, False):
            answers = iter((first, second))
            outcome = Interpreter(explored).call(0, [torch.zeros(3)], decide=lambda *_, answers=answers: next(answers))
            taken.update(outcome.decisions)
    branches = [b for f in explored.functions for b in f.blocks if isinstance(b.terminator, Branch)]
    assert len(branches) == 2
    assert len(taken) == 4


def test_decisions_about_sizes_are_marked():
    def program(x):
        return x[:2] if x.shape[0] > 4 else x

    explored = explore(program, [Call((torch.randn(n),), {}) for n in (2, 6)])
    kinds = [b.terminator.kind for f in explored.functions for b in f.blocks if isinstance(b.terminator, Branch)]
    assert kinds == ["size"]


def test_the_loop_is_right():
    check(_halve, randn(3, scale=30.0))
