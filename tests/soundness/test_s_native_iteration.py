"""Rule S: native functions that go through something element by element do so in the program's own terms."""

from __future__ import annotations

import collections
import math

import torch

from tests.soundness.harness import check


def _vectors(*counts: int) -> list[tuple[torch.Tensor]]:
    generator = torch.Generator().manual_seed(3)
    return [(torch.randint(-4, 5, (count,), generator=generator),) for count in counts]


def _positive(x):
    return [v for v in x.tolist() if v > 0]


def test_sorting_in_place():
    def program(x):
        known = [x[0].item(), x[1].item(), x[2].item()]
        known.sort(reverse=True)
        found = x.tolist()
        found.sort(key=lambda v: (v - 1) ** 2)
        return known, found

    check(program, _vectors(4, 3, 5, 3))


def test_sorting_tensors_by_a_key():
    def program(x):
        rows = [x[0:2], x[1:3], x[2:4]]
        rows.sort(key=lambda r: r.sum().item())
        return torch.stack(rows), rows[0].max()

    check(program, _vectors(4, 4, 4))


def test_membership_in_a_list_of_unknown_length():
    def program(x):
        found = _positive(x)
        return 3 in found, 1 not in found, x[0].item() in found

    check(program, _vectors(4, 3, 6, 2, 5))


def test_nan_is_not_looked_for():
    def program(x, y):
        return y.item() in [v for v in x.tolist() if v > 0]

    finite = torch.tensor([0.5, -1.0, 2.0])
    check(program, [(finite, torch.tensor(2.0)), (finite[:2], torch.tensor(3.0))])
    check(program, [(finite, torch.tensor(2.0)), (finite[:2], torch.tensor(math.nan))], expect="any")


def test_searching_a_list_of_unknown_length():
    def program(x):
        found = x.tolist()
        count = found.count(2)
        try:
            at = found.index(2)
            found.remove(1)
        except ValueError as error:
            return str(error), count, found
        return count, at, found

    check(program, _vectors(4, 3, 6, 2, 5, 7))


def test_searching_between_bounds():
    def program(x):
        items = (x[0].item(), x[1].item(), x[2].item(), 7)
        try:
            return items.index(7, 1), items.index(x[1].item(), 1, 3), items.index(x[0].item(), 2)
        except ValueError as error:
            return str(error)

    check(program, [(torch.tensor(v),) for v in ([1, 2, 3], [5, 2, 5], [0, 0, 0])])


def test_joining_text():
    def program(x):
        return ", ".join(f"{v}" for v in x.tolist()), "-".join(str(x[i].item()) for i in range(2))

    check(program, _vectors(4, 3, 6, 2))


def test_tensors_of_a_generator():
    def program(x):
        parts = torch.cat(tuple(x[i : i + 1] for i in range(3)))
        return parts, torch.stack([*(r + 1 for r in x)]), torch.stack(tuple(r + 1 for r in x))

    check(program, _vectors(3, 3, 3))


def test_tuples_of_unknown_length():
    def program(x):
        return tuple(x[i] * i for i in range(2) if x[i] > 0)

    check(program, _vectors(3, 3, 4, 3))


def test_native_code_that_takes_any_iterable():
    def program(x):
        window = collections.deque((x[i].item() for i in range(3)), 2)
        return math.prod(x[i].item() for i in range(3)), window[0], window[1], max(x[i].item() for i in range(3))

    check(program, _vectors(3, 3, 4))


def test_unpacking_a_generator_into_a_call():
    def plus(a, b, c=0):
        return a + b * c

    def program(x):
        return plus(*(x[i] for i in range(2)), c=x[2]), plus(*map(abs, (x[0], x[1], x[2])))

    check(program, _vectors(3, 3, 4))


def test_iterating_until_a_sentinel():
    class Reader:
        def __init__(self, values):
            self.values, self.at = values, 0

        def read(self):
            self.at += 1
            return self.values[self.at - 1].item() if self.at <= 4 else 0

    def program(x):
        reader, total = Reader(x), 0
        for value in iter(reader.read, 0):
            total = total * 3 + value
        return total, reader.at

    check(program, _vectors(4, 4, 5, 4))


def test_comparing_text_made_from_data():
    def program(x):
        name = f"{x[0].item()}"
        words = [f"{v}" for v in x.tolist()]
        return name == "2", name != "3", name < "1", "1" in words, words.count("2"), sorted(words)

    check(program, _vectors(3, 4, 2, 3))
