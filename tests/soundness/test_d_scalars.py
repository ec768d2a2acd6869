"""Rule D: the user's code holds our scalars, and everything Python does to them is staged, decided or refused."""

from __future__ import annotations

import enum
import math
import operator
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from tests.soundness.harness import check, randint, randn, refused


def test_types_and_conversions():
    def program(x):
        k, f = int(x[0].item()), x[1].item()
        return (
            isinstance(k, int),
            isinstance(f, float),
            type(k).__name__,
            float(k),
            int(f),
            bool(k),
            [round(f), round(f, 1), math.floor(f), math.ceil(f), math.trunc(f)],
            k == int(k),
        )

    check(program, randn(3, scale=3.0))


def test_numbers_as_indices_bounds_and_counts():
    def program(x):
        k = x[0].item()
        letters = ["a", "b", "c", "d", "e"]
        t = torch.arange(6.0)
        return (
            letters[k],
            t[k],
            t[:k],
            t[-k:],
            t[k:5:2],
            list(range(k)),
            sum(range(k)),
            torch.zeros(k),
            {n: n for n in range(5)}[k],
        )

    check(program, randint(0, 5, 2))


def test_texts():
    def program(x):
        k, f = int(x[0].item()), x[1].item()
        print(f"{k:3d}|{f:+.2e}", x[0] > 0, sep="-")
        if f > 0:
            warnings.warn(f"positive {f:.1f}", stacklevel=1)
        old = "%s %d %.1f" % (k, k, f)  # noqa: UP031
        new = "{} {:>4}".format(k, k)  # noqa: UP032
        return f"{k}", old, new, str(k) + "!", repr(f), ",".join([str(k), "x"])

    check(program, randn(3, scale=3.0))


def test_math_functions():
    def program(x):
        f = abs(x[0].item()) + 0.5
        return (
            math.sqrt(f),
            math.exp(-f),
            math.log(f),
            math.hypot(f, 1.0),
            math.isnan(f),
            math.atan2(f, 2),
            math.fmod(f, 0.3),
        )

    check(program, randn(3))


def test_operators_of_the_operator_module():
    def program(x):
        a, b = x[0].item(), x[1].item()
        return operator.add(a, b), operator.mul(a, 2), operator.lt(a, b), operator.floordiv(a, 3)

    check(program, randint(-9, 9, 2))


def test_booleans_are_numbers_and_conditions():
    def program(x):
        b = x[0].item() > 0
        return (
            b + 1,
            b * 2.5,
            int(b),
            b and 3,
            b or 4,
            not b,
            b is True,
            -b,
            b ^ True,
            b & False,
            x[1].item() < 0 < x[2].item(),
        )

    check(program, randn(3, count=12))


def test_an_except_clause_does_not_see_the_machinery():
    def program(x):
        try:
            k = int(x.sum().item())
            return [1, 2, 3][k]
        except (TypeError, AttributeError, ValueError):
            return "swallowed"
        except IndexError:
            return "out of range"

    check(program, randn(3, scale=2.0, count=12))


def test_bare_except_and_finally_do_not_record():
    def program(x):
        log = []
        try:
            if x.sum() > 0:
                log.append(1)
        except BaseException:
            log.append("swallowed")
            raise
        finally:
            log.append(2)
        return log

    check(program, randn(3))


def test_enums_and_dispatch_by_name():
    class Color(enum.Enum):
        RED = 1
        BLUE = 2

    def program(x):
        color = Color.RED if x[0] > 0 else Color.BLUE
        return x if color is Color.RED else x * color.value

    check(program, randn(3))


def test_special_methods_of_user_classes_see_python_types():
    class Box:
        def __init__(self, value):
            self.value = value

        def __add__(self, other):
            return Box(self.value + other) if isinstance(other, float) else NotImplemented

        def __bool__(self):
            return isinstance(self.value, float) and self.value > 0

        def __contains__(self, item):
            return isinstance(item, float) and item == self.value

        @property
        def half(self):
            return self._half

        @half.setter
        def half(self, value):
            self._half = value / 2 if isinstance(value, float) else None

    def program(x):
        box = Box(x[0].item())
        box.half = x[0].item()
        total = box + x[1].item()
        return total.value, 1 if box else 2, not box, bool(box), x[0].item() in box, box.half

    check(program, randn(3))


def test_a_hash_is_refused():
    refused(lambda x: {x[0].item(): 1}, randn(3), "TC120")


def test_native_code_is_refused():
    refused(lambda x: math.gcd(int(x[0].item()), 4), randn(3), "TC160")


@pytest.mark.parametrize("call", [lambda x: np.unique(x.numpy()), lambda x: eval("1")])
def test_what_cannot_be_staged_is_refused(call):
    with pytest.raises(AssertionError, match="TC16"):
        check(call, randn(3))


def test_staged_values_do_not_leak_into_callbacks_of_native_code():
    def program(x):
        tree = {"a": x, "b": x[0].item()}
        return torch.utils._pytree.tree_map(lambda leaf: leaf if isinstance(leaf, float) else -1, tree)

    refused(program, randn(3), "TC160")


def test_sets_and_dicts_of_loop_counters():
    def program(x):
        seen, sums = set(), {}
        for i in range(5):
            if x[i % 3] > 0:
                seen.add(i)
                sums[i] = x[i % 3]
        return sorted(seen), sums

    check(program, randn(3))


def test_a_string_that_differs_is_data():
    def program(x):
        log = []
        for scale in (1.0, 2.0, 3.0):
            why = "large" if (x * scale).sum() > 2 else "small"
            log.append((scale, why))
        return log, f"{why}!"

    raw = check(program, randn(3))
    assert raw is not None
    assert len(raw.functions[0].blocks) < 16


def test_a_string_that_differs_is_needed_as_a_constant():
    def program(x):
        mode = "double" if x[0] > 0 else "half"
        factors = {"double": 2.0, "half": 0.5}
        kind = mode
        if x[1] > 0:
            kind = "none"
        y = x * factors[mode]
        return (y + 1 if mode == "double" else y), len(mode), mode.upper(), kind in ("none", "half")

    check(program, randn(3, count=12))


def test_the_state_between_calls_has_strings():
    class Moody(nn.Module):
        def __init__(self):
            super().__init__()
            self.mood = "calm"

        def forward(self, x):
            if x.sum() > 0:
                self.mood = "glad"
            return x * 2 if self.mood == "glad" else x, self.mood

    check(Moody(), randn(3))
