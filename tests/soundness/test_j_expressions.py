"""Rule J: expressions over staged values do not explode."""

from __future__ import annotations

import pytest

from tests.soundness.harness import check, randn


def _blocks(program):
    assert program is not None
    return sum(len(f.blocks) for f in program.functions)


def test_max_of_many_tensors_is_linear():
    sizes = [_blocks(check(lambda x: max(list(x)), randn(n, count=4))) for n in (4, 8, 12)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]
    assert sizes[2] < 40


def test_sorted_is_quadratic():
    sizes = [_blocks(check(lambda x: sorted(x), randn(n, count=4))) for n in (2, 4, 6)]
    assert sizes[:2] == [4, 19]
    assert sizes[2] < 70


def test_keys_are_staged_once():
    def program(x):
        calls = []

        def key(n):
            calls.append(n)
            return x[n].item()

        return max(range(4), key=key), calls, sorted(range(3), key=lambda n: -x[n].item())

    check(program, randn(4))


def test_ten_ternaries():
    def program(x):
        y = x
        y = y + (1 if y[0] > 0 else -1)
        y = y + (1 if y[1] > 0 else -1)
        y = y + (1 if y[2] > 0 else -1)
        y = y + (1 if y[3] > 0 else -1)
        y = y + (1 if y[0] > 1 else -1)
        y = y + (1 if y[1] > 1 else -1)
        y = y + (1 if y[2] > 1 else -1)
        y = y + (1 if y[3] > 1 else -1)
        y = y + (1 if y[0] > 2 else -1)
        return y + (1 if y[1] > 2 else -1)

    assert _blocks(check(program, randn(4))) == 31


@pytest.mark.parametrize("count", [4, 8])
def test_any_all_sum_in_index_count(count):
    def program(x):
        values = x.tolist()
        found = [v for v in values if v > 0]
        return any(v > 1 for v in x), all(v > -1 for v in x), sum(values), 0.5 in values, values.count(0.0), len(found)

    assert _blocks(check(program, randn(count))) < 40 * count


def test_list_comprehension_with_choices():
    assert _blocks(check(lambda x: [v * 2 if v > 0 else v - 1 for v in x], randn(6))) == 19


def test_boolean_operators():
    def program(x):
        a, b, c = x[0], x[1], x[2]
        return 1 if (a > 0 and b > 0) or (c > 0 and not a > 1) else 2, (a > 0 and b), (a or b)

    check(program, randn(3, count=16))
