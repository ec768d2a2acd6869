"""Rule K: the position of every live iterator is part of the state."""

from __future__ import annotations

import functools
import itertools

import torch

from tests.soundness.harness import check, randn


def test_an_iterator_advanced_on_one_path():
    def program(x):
        it = iter((1.0, 2.0, 3.0))
        if x[0] > 0:
            next(it)
        return next(it), list(it)

    check(program, randn(3))


def test_an_iterator_of_a_dict():
    def program(x):
        it = iter({"a": 1, "b": 2, "c": 3}.items())
        if x[0] > 0:
            next(it)
        return next(it)

    check(program, randn(3))


def test_zip_of_a_generator():
    def program(x):
        def positive():
            for value in x:
                if value > 0:
                    yield value

        return [a * b for a, b in zip(positive(), (1.0, 2.0, 3.0), strict=False)]

    check(program, randn(4))


def test_generators_with_send_and_return():
    def program(x):
        def adder():
            total = 0
            while True:
                value = yield total
                if value is None:
                    return total
                if value > 0:
                    total = total + value

        it = adder()
        next(it)
        for value in x:
            last = it.send(value)
        try:
            it.send(None)
        except StopIteration as stop:
            return last, stop.value

    check(program, randn(4))


def test_yield_from():
    def program(x):
        def inner():
            for value in x:
                if value > 0:
                    yield value
            return "done"

        def outer():
            result = yield from inner()
            yield x.sum()
            return result

        return list(outer())

    check(program, randn(4))


def test_a_generator_left_by_break():
    def program(x):
        def steps():
            for n in range(10):
                yield x * n

        for value in steps():
            if value.sum().abs() > 4:
                break
        return value

    check(program, randn(3))


def test_enumerate_reversed_map_filter():
    def program(x):
        pairs = [(n, a) for n, (a, b) in enumerate(zip(x, reversed(list(x)), strict=True)) if a > b]
        return pairs, list(map(lambda v: v * 2, filter(lambda v: v > 0, x)))  # noqa: C417

    check(program, randn(4))


def test_itertools():
    def program(x):
        out = [a * b for a, b in itertools.product((1, 2), (3,)) if x.sum() > a]
        out += [a for a in itertools.chain((1,), [2]) if x[0] > a]
        out += [n for n in itertools.islice(itertools.count(), 3) if x[n] > 0]
        return out

    check(program, randn(4))


def test_itertools_over_tensors():
    def program(x):
        running = list(itertools.accumulate(x, lambda a, b: a + b if a > 0 else b))
        return running, [a - b for a, b in itertools.pairwise(x)], list(itertools.takewhile(lambda v: v > 0, x))

    check(program, randn(3))


def test_cycle_and_repeat():
    def program(x):
        letters, sevens, numbers = itertools.cycle("ab"), itertools.repeat(7, 2), itertools.count(5)
        out = [next(letters) for v in x if v > 0]
        if x[0] > 0:
            next(sevens)
            next(numbers)
        return out, list(sevens), next(numbers)

    check(program, randn(4))


def test_reduce():
    check(lambda x: functools.reduce(lambda a, b: a if a > b else b, x), randn(4))


def test_a_class_that_iterates():
    class Halves:
        def __init__(self, value):
            self.value = value

        def __iter__(self):
            return self

        def __next__(self):
            if self.value.norm() < 1:
                raise StopIteration
            self.value = self.value / 2
            return self.value

    def program(x):
        total = torch.zeros(3)
        for n, half in enumerate(Halves(x)):
            total = total + half
            if n == 3:
                break
        return total

    check(program, randn(3, scale=4.0))


def test_stacks_that_a_loop_grows_and_shrinks():
    def program(x):
        stack, n = [x], 0
        while stack and n < 20:
            top = stack.pop()
            n += 1
            if top.norm() < 12:
                stack.append(top * 2)
            if top.norm() < 3:
                stack.append(top * 3)
        return n, len(stack)

    check(program, randn(3))
