"""Rule A: paths merge only where everything that follows is equal."""

from __future__ import annotations

import torch
from torch import nn

from tests.soundness.harness import check, randn


def _branching(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def test_a_pending_call_result_is_part_of_the_state():
    check(lambda x: _branching(x) + _branching(-x) * 3, randn(4))


def test_pending_operands_of_one_expression():
    check(lambda x: (x if x[0] > 0 else -x) - (x if x[1] > 0 else x * 5), randn(4, count=12))


def test_two_equal_gates_in_a_row():
    class Gate(nn.Module):
        def forward(self, x):
            return x + 1 if x.mean() > 0 else x * 2

    check(nn.Sequential(Gate(), Gate(), Gate()), randn(4, count=12))


def test_one_gate_called_twice_with_different_weights():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

        def gate(self, x, layer):
            return layer(x) if x.sum() > 0 else x

        def forward(self, x):
            for layer in self.layers:
                x = self.gate(x, layer)
            return x

    check(Twice(), randn(2, 4, count=12))


def test_arguments_that_were_evaluated_before_the_decision():
    def program(x):
        def combine(a, b, *, c):
            return a - 2 * b + 3 * c

        return combine(x[0], _branching(x), c=_branching(-x))

    check(program, randn(4))


def test_the_loop_position_of_an_outer_frame():
    def program(x):
        total = x * 0
        for k in (1.0, 2.0, 3.0):
            total = total + k * _branching(total + x)
        return total

    check(program, randn(4))


def test_a_with_statement_that_is_open_on_all_paths():
    def program(x):
        with torch.no_grad():
            y = _branching(x)
        return y, torch.is_grad_enabled()

    check(program, randn(4))


def test_autocast_ends_on_every_path():
    def program(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = x @ x if x.sum() > 0 else x @ x.t()
        return y, x @ x

    check(program, randn(4, 4))


def test_a_finally_that_replaces_the_result():
    def program(x):
        try:
            if x[0] > 0:
                return 1
            if x[1] > 0:
                raise KeyError("k")
        except KeyError as error:
            return error.args
        finally:
            if x[2] > 1:
                return 9  # noqa: B012
        return 3

    check(program, randn(4, count=16))


def test_a_local_that_only_one_exit_of_the_loop_reads():
    def program(x):
        for k, j in zip((1.0, 2.0), (3.0, 4.0), strict=True):
            x = x * k
            y = x * j
            if y.sum() > 3:
                break
        return y

    check(program, randn(4))
