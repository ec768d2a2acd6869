"""Rule B: every path starts in the same world, and what a path changes stays its own."""

from __future__ import annotations

import collections
import functools
import random
import time

import pytest
import torch
from torch import nn

from tests.soundness.harness import check, randn, refused

_calls = 0
_memory = {"seen": 0}


@functools.cache
def _square(k):
    return k * k


class _Counter:
    made = 0


def test_attributes_count_calls_not_paths():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            if x.sum() > 0:
                self.calls += 10
            return x + self.calls

    check(Counting(), randn(3))


def test_a_lazily_built_attribute():
    class Lazy(nn.Module):
        def __init__(self):
            super().__init__()
            self.mask = None

        def forward(self, x):
            if self.mask is None:
                self.mask = torch.ones(3) * 2
            return x * self.mask if x.sum() > 0 else x

    check(Lazy(), randn(3))


def test_globals_that_a_function_assigns():
    def program(x):
        global _calls
        _calls += 1
        return x * 0 if _calls >= 3 else x + _calls

    check(program, randn(3))


def test_a_global_dict():
    def program(x):
        _memory["seen"] += 1 if x.sum() > 0 else 2
        return x + _memory["seen"]

    check(program, randn(3))


def test_class_attributes():
    def program(x):
        _Counter.made += 1
        if x[0] > 0:
            _Counter.made += 10
        return x + _Counter.made

    check(program, randn(3))


def test_closure_cells():
    def make():
        total = 0

        def program(x):
            nonlocal total
            total += 1 if x.sum() > 0 else 100
            return x + total

        return program

    check(make(), randn(3))


def test_lru_cache():
    check(lambda x: x * _square(3) if x[0] > 0 else x * _square(2), randn(3))


def test_default_arguments_of_functions_made_in_the_call():
    def program(x):
        def push(value, items=[]):  # noqa: B006
            items.append(value)
            return len(items)

        push(1)
        if x[0] > 0:
            push(2)
        return push(3)

    check(program, randn(3))


def test_default_arguments_that_grow_without_an_end_are_refused():
    def program(x, seen=[]):  # noqa: B006
        seen.append(1.0)
        return x * len(seen)

    refusal = refused(program, randn(3), "TC101")
    assert "every call leaves another state behind" in refusal.problems[0].message


def test_subclasses_of_containers_are_put_back_without_their_own_methods():
    def program(x):
        counts = collections.Counter()
        for n in range(3):
            counts["up" if x[n] > 0 else "down"] += 1
        return dict(counts), counts.most_common(1)[0][0]

    check(program, randn(4))


def test_a_context_manager_that_catches_on_one_path():
    import contextlib

    def program(x):
        log = []

        @contextlib.contextmanager
        def quiet(name):
            log.append(name)
            try:
                yield
            except ValueError:
                log.append("caught")
            finally:
                log.append("left")

        with quiet("a"):
            if x[0] > 0:
                raise ValueError
            x = x + 1
        return log, x

    check(program, randn(4))


def test_deep_copies():
    import copy

    def program(x):
        first = {"a": x, "b": [1, x[0].item()]}
        second, third = copy.deepcopy(first), copy.copy(first)
        if x[0] > 0:
            second["a"].add_(1)
            third["b"].append(2)
        return first, second, third

    check(program, randn(3))


def test_objects_with_slots():
    import dataclasses

    @dataclasses.dataclass(slots=True)
    class Point:
        a: int
        b: float = 0.0

    def program(x):
        point = Point(1)
        if x[0] > 0:
            point.a += 1
        if x[1] > 0:
            point.b = x[0].item()
        return point.a, point.b, point == Point(1)

    check(program, randn(3))


def test_objects_made_by_new_and_init():
    class Base:
        made = []  # noqa: RUF012

        def __init_subclass__(cls, **_):
            Base.made.append(cls.__name__)

        def __new__(cls, *args):
            instance = super().__new__(cls)
            instance.count = len(args)
            return instance

        def __init__(self, value):
            self.value = value

    def program(x):
        class Derived(Base):
            pass

        made = Derived(x)
        return made.count, Base.made, made.value * 2 if x[0] > 0 else made.value

    check(program, randn(3), "any")


@pytest.mark.parametrize("source", [random.random, time.time, time.perf_counter])
def test_sources_of_chance_are_refused(source):
    refused(lambda x: x * source(), randn(3), "TC110")


def test_random_tensors_are_refused():
    refused(lambda x: x + torch.randn(3), randn(3), "TC140")


def test_objects_of_native_code_that_change_are_refused():
    import io

    def program(x):
        text = io.StringIO()
        if x[0] > 0:
            text.write("a")
        return text.getvalue()

    refused(program, randn(3), "TC160")


def test_a_tensor_attribute_replaced_after_a_loop():
    class Last(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.last = torch.zeros(1)

        def forward(self, x):
            while x.sum() > 1:
                x = x * 0.5
            before, self.last = self.last, x.sum().reshape(1)
            return x, before

    check(Last(), randn(3, scale=3.0))
