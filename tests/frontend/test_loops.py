"""Loops: what is rolled, what is unrolled, and how many blocks that takes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.soundness.harness import check, randn
from toolchain.ir import Program


def _counts(program: Program | None) -> tuple[int, int]:
    """(blocks, loop heads)."""
    assert program is not None
    blocks = [b for f in program.functions for b in f.blocks]
    return len(blocks), sum(b.is_loop_head for b in blocks)


def test_a_while_has_one_head():
    def program(x):
        n = 0
        while x.norm() < 20:
            x = x * 1.5
            n += 1
        return x, n

    assert _counts(check(program, randn(3)))[1] == 1


@pytest.mark.parametrize("trips", [10, 100, 1000])
def test_the_blocks_of_a_for_do_not_depend_on_its_trips(trips):
    def program(x):
        for _ in range(trips):
            if x.sum() > 50:
                break
            x = x * 1.1 + 0.1
        return x

    blocks, heads = _counts(check(program, randn(3, count=3)))
    assert (blocks, heads) == (7, 1)


def test_nested_loops_have_a_head_each():
    def program(x):
        n = m = 0
        while x.norm() < 30:
            y = x
            while y.sum().abs() < 10:
                y = y * 2 + 0.1
                m += 1
            x = x * 1.5 + y * 0.01
            n += 1
        return x, n, m

    assert _counts(check(program, randn(3)))[1] == 2


def test_a_loop_over_modules_is_unrolled():
    class Chain(nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(depth)])

        def forward(self, x):
            for n in range(len(self.layers)):
                if x.mean() > 0:
                    x = self.layers[n](x)
            return x

    assert [_counts(check(Chain(depth), randn(1, 2, count=4))) for depth in (2, 6, 10)] == [(7, 0), (26, 0), (42, 0)]


def test_a_loop_without_decisions_is_unrolled_in_one_block():
    def program(x):
        for n in range(50):
            x = x + n
        return x

    assert _counts(check(program, randn(3, count=2))) == (2, 0)


def test_a_loop_over_a_count_of_run_time():
    def program(x):
        total = torch.zeros(())
        for n in range(int(x[0].abs().item())):
            total = total + x[1] * n
        return total

    assert _counts(check(program, randn(3, scale=5.0)))[1] == 1


def test_lists_that_a_loop_grows():
    def program(x):
        items = []
        while x.norm() < 20:
            x = x * 1.9
            items.append(x)
        return torch.stack(items) if items else x, len(items), items

    assert _counts(check(program, randn(3)))[1] == 1


def test_tuples_that_a_loop_collects_are_iterated_again():
    def program(x):
        items, n = [], 0
        while x.norm() < 20:
            x = x * 1.5
            items.append((n, x.sum().item(), x))
            n += 1
        total = 0.0
        for position, number, _ in items:
            total += number * position
        return total, items

    assert _counts(check(program, randn(3)))[1] == 2


def test_else_continue_and_break():
    def program(x):
        count = 0
        for _ in range(6):
            for j in range(5):
                x = x + 0.1
                if x.sum() > j:
                    continue
                count += 1
                if count > 7:
                    break
            else:
                count += 10
            if count > 30:
                break
        return count, x

    assert _counts(check(program, randn(4)))[1] == 2


def test_two_loops_in_a_row():
    def program(x):
        while x.norm() < 9:
            x = x * 1.3
        while x.norm() > 5:
            x = x * 0.9
        return x

    assert _counts(check(program, randn(3)))[1] == 2


def test_a_loop_in_a_helper_that_is_called_twice():
    def grow(x, limit):
        while x.norm() < limit:
            x = x * 1.3
        return x

    assert _counts(check(lambda x: grow(x, 5) + grow(x * 2, 9), randn(3)))[1] == 2


def test_a_loop_that_returns_from_inside():
    def program(x):
        for n in range(20):
            x = x * 1.4
            if x.norm() > 20:
                return x, n
        return x, -1

    assert _counts(check(program, randn(3)))[1] == 1
