"""Rule I: the unit of change is the storage: views, aliases and arguments see every change, across joins and loops."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.soundness.harness import check, randn


def test_a_view_changed_in_one_branch():
    def program(x):
        out = x.clone()
        head = out[:2]
        if x[0] > 0:
            head *= 2
        return out.sum(), head

    check(program, randn(4))


def test_a_different_view_on_each_path():
    def program(x):
        y = x.clone()
        half = y[:2] if x[0] > 0 else y[2:]
        half.mul_(2)
        return y

    check(program, randn(4))


def test_a_view_or_a_copy():
    def program(x):
        y = x.clone()
        part = y[:2] if x[0] > 0 else y[:2].clone()
        part.add_(1)
        return y, part

    check(program, randn(4))


def test_one_tensor_or_two():
    def program(x):
        y = torch.zeros(3)
        z = y if x.sum() > 0 else x * 1
        z.add_(1)
        return y, z, y is z

    check(program, randn(3))


def test_different_buffers_on_each_path():
    class Banks(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", torch.zeros(2, 3))

        def forward(self, x):
            row = self.table[0] if x.sum() > 0 else self.table[1]
            row.add_(x)
            return self.table * 1

    check(Banks(), randn(3))


def test_arguments_changed_in_place():
    def program(x):
        if x[0] > 0:
            x.add_(1)
        else:
            x[1] = 5
        return x.sum()

    check(program, randn(4))


def test_arguments_changed_through_a_view_in_a_loop():
    def program(x):
        n = 0
        while x.abs().max() < 20:
            x[n % 4] *= 3
            x.view(2, 2)[1].add_(1)
            n += 1
        return n

    check(program, randn(4))


def test_an_alias_carried_by_a_loop():
    def program(x):
        a = x.clone()
        b = a
        while a.norm() < 20:
            b.mul_(1.7)
        return a, b, a is b

    check(program, randn(3))


def test_an_alias_that_the_loop_renews():
    def program(x):
        a = x.clone()
        b = a
        while a.norm() < 20:
            a = a * 1.7
            b = a
            b.add_(0.1)
        return a, b

    check(program, randn(3))


def test_an_alias_at_first_and_no_more_later():
    def program(x):
        y = x
        n = 0
        while y.sum().abs() < 20 and n < 9:
            y = y * 2 + 0.1
            n += 1
        y.add_(1)
        return x, y, n

    check(program, randn(3))


def test_rows_filled_by_a_loop():
    def program(x):
        rows, n = torch.zeros(10, 3), 0
        while x.norm() < 20 and n < 10:
            row = rows[n]
            row.copy_(x)
            x = x * 1.6
            n += 1
        return rows[:n]

    check(program, randn(3))


def test_detach_shares():
    def program(x):
        y = x.clone()
        z = y.detach()
        if x[0] > 0:
            z.mul_(3)
        return y

    check(program, randn(3))


def test_a_change_to_an_element_of_a_list():
    def program(x):
        items = [x.clone(), x * 2]
        if x[0] > 0:
            items[0].add_(1)
        items[1][0] = 7
        return items

    check(program, randn(3))


def test_elements_of_a_list_of_unknown_length_are_not_changed_silently():
    def program(x):
        items = []
        while x.norm() < 20:
            x = x * 1.5
            items.append(x)
        for item in items:
            item.add_(1)
        return items

    check(program, randn(3), "any")


def test_lists_in_a_list_of_unknown_length_keep_their_identity():
    def program(x):
        items = []
        while x.norm() < 20:
            x = x * 1.5
            items.append([x, 1])
        for item in items:
            item[1] = 2
        return items

    check(program, randn(3), "any")


def test_swapping_by_a_loop():
    def program(x):
        a, b = x, x * 2
        while a.norm() < 20:
            a, b = b, a * 1.5
        return a, b

    check(program, randn(3))


_OVERLAPS = {
    "an element": lambda x: x.sub_(x[2]),
    "shifted": lambda x: x[1:].copy_(x[:-1]),
    "neighbours": lambda x: x[0].add_(x[1]),
    "itself": lambda x: x.add_(x),
    "every second": lambda x: x[::2].add_(x[1::2]),
    "halves": lambda x: x[:3].add_(x[3:]),
    "indexed": lambda x: x.index_put_((torch.tensor([0]),), x[1:2]),
    "filled with its own": lambda x: x.masked_fill_(x > 1, x[0]),
    "a maximum": lambda x: torch.maximum(x[:4], x[2:], out=x[:4]),
}


@pytest.mark.parametrize("name", _OVERLAPS)
def test_memory_that_is_read_and_written(name):
    def program(x):
        y = x * 2
        try:
            _OVERLAPS[name](y)
        except RuntimeError as error:
            return y, str(error).split(".")[0]
        return y, "fine"

    check(program, [(torch.arange(6.0),), (torch.ones(6),)])
