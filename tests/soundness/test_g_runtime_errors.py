"""Rule G: errors that only real elements cause are explicit: caught where eager catches, raised where eager raises."""

from __future__ import annotations

import math

import torch
from torch import nn

from tests.soundness.asserting import bounded
from tests.soundness.harness import check, randint, randn


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)

    def forward(self, ids):
        try:
            return self.table(ids)
        except IndexError:
            return "unknown token"


class Unguarded(Embedding):
    def forward(self, ids):
        return self.table(ids).sum()


def test_embedding_inside_try():
    check(Embedding(), randint(0, 7, 2, count=12))


def test_embedding_that_raises():
    check(Unguarded(), randint(0, 7, 2, count=12), torch_texts=True)


def test_index_with_a_number():
    check(lambda i: torch.arange(4.0)[i[0].item()], randint(-6, 6, 1, count=12), torch_texts=True)

    def guarded(i):
        try:
            return torch.arange(4.0)[i[0].item()]
        except IndexError:
            return "none"

    check(guarded, randint(-6, 6, 1, count=12))


def test_index_with_a_tensor():
    check(lambda i: torch.arange(4.0)[i], randint(-6, 6, 2, count=12), torch_texts=True)
    check(lambda i: torch.arange(4.0).index_select(0, i), randint(0, 6, 2, count=12), torch_texts=True)
    check(lambda i: torch.arange(4.0).gather(0, i), randint(0, 6, 2, count=12), torch_texts=True)


def test_index_into_a_list():
    def program(i):
        try:
            return [10, 20, 30][i[0].item()]
        except IndexError as error:
            return str(error)

    check(program, randint(-5, 5, 1, count=12))


def test_integer_division_of_tensors():
    check(lambda x: x // x.flip(0), randint(-2, 3, 2, count=16), torch_texts=True)

    def guarded(x):
        try:
            return x // x.flip(0)
        except RuntimeError:
            return "zero"

    check(guarded, randint(-2, 3, 2, count=16))


def test_reductions_of_an_empty_tensor():
    check(lambda x: x[x > 1].max(), randn(3, count=12), torch_texts=True)

    def guarded(x):
        try:
            return x[x > 1].max()
        except RuntimeError:
            return x.sum()

    check(guarded, randn(3, count=12))


def test_pop_from_a_list():
    def program(x):
        items = []
        while x.norm() < 8:
            x = x * 1.5
            items.append(x)
        try:
            return items.pop()
        except IndexError as error:
            return str(error)

    check(program, [*randn(3), (torch.full((3,), 9.0),)])


def test_exceptions_as_exits_with_data():
    class Found(Exception):
        def __init__(self, where, value):
            super().__init__(where, value)
            self.where = where
            self.value = value

    def program(x):
        try:
            for n in range(4):
                if x[n] > 1:
                    raise Found(n, x * n)
        except Found as found:
            return found.where, found.value
        return None

    check(program, randn(4, count=12))


def test_texts_and_causes():
    def program(x):
        try:
            try:
                if x[0] > 0:
                    raise ValueError("a")
                raise KeyError("b")
            except ValueError as error:
                raise RuntimeError(f"c {x[1].item():.2f}") from error
        except RuntimeError as error:
            return str(error), str(error.__cause__)
        except KeyError as error:
            return repr(error), str(error.__context__)

    check(program, randn(4))


def test_assertions_with_text():
    check(bounded, randn(4, count=12))


def test_conversions_that_raise():
    def program(x):
        try:
            return int(x[0].item())
        except (OverflowError, ValueError) as error:
            return str(error)

    check(program, [(torch.tensor([v]),) for v in (1.5, float("inf"), float("nan"))], "any")


def test_a_singular_matrix_is_a_decision():
    def program(a, b):
        try:
            y = torch.linalg.inv(a) @ b
        except torch.linalg.LinAlgError as error:
            return b, "singular" in str(error)
        else:
            return y * 2, None

    matrices = [[2.0, 0.0], [0.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]
    check(program, [(torch.tensor(m), torch.ones(2, 1)) for m in matrices])


def test_a_system_without_a_solution():
    def program(a):
        return torch.linalg.solve(a, torch.ones(2))

    check(program, [(torch.eye(2),), (torch.ones(2, 2),)], torch_texts=True)


class _Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.register_buffer("total", torch.zeros(()))
        self.history = []

    def forward(self, x, i):
        self.count += 1
        self.total += x.sum()
        x.mul_(2)
        position = i.item()
        value = x[position] * self.count + self.total
        self.history = [position]
        return value / (position - 1), math.sqrt(position), self.history


def test_what_a_call_changed_before_its_error_stays():
    calls = [(torch.ones(3), torch.tensor(i)) for i in (2, 5, 1, 2, -1, -2, 0, 2)]
    check(_Counting(), calls, examples=1, torch_texts=True)


def test_checks_are_no_decisions_before_anything_has_changed():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0

        def forward(self, x, i):
            value = x[i.item()]
            self.count += 1
            return value * self.count

    raw = check(Net(), [(torch.ones(3), torch.tensor(i)) for i in (1, 5, 2)], examples=1, torch_texts=True)
    assert raw is not None
    assert all(len(function.blocks) == 1 for function in raw.functions)
