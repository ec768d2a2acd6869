"""Rule J: expressions over staged values do not explode."""

from __future__ import annotations

import pytest
import torch

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


def test_methods_that_wait_for_an_argument():
    """The object is only known to its method while the argument is decided about."""

    def program(x):
        scaled = (x - 1).add(1 if x[0].item() > 0 else 2)
        chosen = (scaled if x[1] > 0 else scaled * 2).mul(3 if x[2].item() > 0 else 4)
        found = [x.sum()].count(0 if x[0] > 1 else 1) if x.numel() == 1 else 0
        words = [1]
        words.append(2 if x[0].item() > 0 else 3)
        words.extend([5] if x[2] > 0 else [6])
        return (
            chosen.clamp(*((0, 1) if x[1].item() > 1 else (-1, 2))),
            words,
            found,
            torch.Tensor.norm(x - (1 if x[0] > 0 else 3)),
        )

    check(
        program,
        [(torch.tensor(v),) for v in ([1.0, 2, 3], [-1.0, 2, -3], [1.0, -2, 3], [-1.0, -0.5, -1], [2.0, 0.5, -1])],
    )


def test_methods_of_different_objects_meet():
    def program(x):
        items, others = [1], [2, 3]
        add = items.append if x[0].item() > 0 else others.append
        scale = x.mul if x[1].item() > 0 else (x + 1).mul
        add(5 if x[1] > 0 else 6)
        return items, others, scale(2 if x[2].item() > 0 else 3)

    check(program, [(torch.tensor(v),) for v in ([1.0, 2, 3], [-1.0, 2, -3], [1.0, -2, 3], [-1.0, -0.5, -1])])
