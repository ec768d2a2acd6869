"""Rule H: NaN, infinities, ties and empties decide as in Python and PyTorch."""

from __future__ import annotations

import itertools
import math

import torch

from tests.soundness.harness import check

NAN, INF = float("nan"), float("inf")
PAIRS = [(torch.tensor(pair),) for pair in itertools.product((1.0, NAN, INF, -INF, -0.0), (0.0, NAN, 1.0))]


def test_comparisons():
    def program(x):
        a, b = x[0].item(), x[1].item()
        return a < b, a >= b, a == b, a != b, not a < b, x[0] > x[1], math.isnan(a), math.isinf(b)

    check(program, PAIRS)


def test_comparisons_as_decisions():
    check(lambda x: (1 if x[0] < x[1] else 2, 1 if x[0] >= x[1] else 2, 1 if x[0] else 2), PAIRS)


def test_extremes_follow_python_for_numbers_and_tensors():
    def program(x):
        a, b = x[0].item(), x[1].item()
        return max(a, b), min(a, b), max(b, a), min(b, a), max(x[0], x[1]), min(list(x)), sorted([a, b])

    check(program, PAIRS)


def test_tensor_reductions():
    check(lambda x: (x.max(), x.argmax(), x.min(0), x.clamp(0.0, 0.5), torch.maximum(x[0], x[1]), x.sort()), PAIRS)


def test_truth():
    check(lambda x: (bool(x[0]), x[1].item() or 5.0, not x[0], any(x), all(x)), PAIRS)


def test_loops_that_nan_ends():
    def program(x):
        n = 0
        while x[0] < 10 and n < 20:
            x = x * 2 + 1
            n += 1
        return n, x

    check(program, PAIRS)


def test_ties():
    ties = [(torch.tensor(row),) for row in ((1.0, 1.0, 0.0), (0.0, 0.0, 0.0), (2.0, 1.0, 2.0))]
    check(lambda x: (x.argmax(), x.max(0), max(range(3), key=lambda n: x[n].item()), x.topk(2)[0]), ties)


def test_searches_for_nan_are_refused_when_they_happen():
    """A list finds NaN if it is the same object."""

    def numbers(x):
        values = [x[0].item(), x[1].item()]
        return values.index(max(values)), values[0] in values, values.count(values[1])

    def tensors(x):
        values = [x[0], x[1]]
        return values.index(max(values)), max(values) in values

    check(numbers, PAIRS, "any")
    check(tensors, PAIRS, "any")
