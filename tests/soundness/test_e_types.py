"""Rule E: types belong to values: no merge widens int to float, bool to int, or a tensor to a number."""

from __future__ import annotations

import torch

from tests.soundness.harness import check, randint, randn


def test_a_loop_without_trips_returns_the_int():
    def program(x):
        total = 0
        for n in range(int(x.abs().sum()) % 3):
            total += x[n].item()
        return total

    check(program, randn(4, count=16))


def test_all_kinds_carried_by_one_loop():
    def program(x):
        n, f, b, t = 0, 1.0, True, x
        while t.norm() < 20:
            t, n, f, b = t * 1.7, n + 1, f * 1.5, not b
        return n, f, b, t

    check(program, randn(3))


def test_int_or_float_by_a_branch():
    check(lambda x: 1 if x[0] > 0 else 1.0, randn(3))
    check(lambda x: True if x[0] > 0 else 1, randn(3))
    check(lambda x: x[0] if x[0] > 0 else x[0].item(), randn(3))


def test_none_then_a_tensor():
    def program(x):
        best = None
        while x.norm() < 9:
            x = x * 1.4
            best = x if best is None else best + x
        return best

    check(program, randn(3))


def test_division_follows_python():
    def program(x):
        a = x[0].item()
        return (
            a // 7,
            a % 7,
            a // -7,
            a % -7,
            divmod(a, 5),
            -a // 2,
            a / 4,
            a**2,
            float(a) // 2.5,
            float(a) % 2.5,
            a >> 1,
            a & 3,
        )

    check(program, randint(-50, 50, 1, count=16))


def test_division_by_zero():
    def program(x):
        a, b = x[0].item(), x[1].item()
        out = []
        for k in range(6):
            try:
                if k == 0:
                    out.append(a // b)
                elif k == 1:
                    out.append(a % b)
                elif k == 2:
                    out.append(a / b)
                elif k == 3:
                    out.append(float(a) // b)
                elif k == 4:
                    out.append(float(a) % b)
                else:
                    out.append(divmod(a, b))
            except ZeroDivisionError as error:
                out.append(str(error))
        return out

    check(program, randint(-2, 3, 2, count=16))


def test_powers():
    check(
        lambda x: (x[0].item() ** 2, x[0].item() ** 0, 2.0 ** x[0].item(), float(x[0].item()) ** 3), randint(-5, 5, 1)
    )
    check(lambda x: abs(x[0].item()) ** 0.5, randn(1))
    check(lambda x: x[0].item() ** 0.5, randn(1), "any")


def test_rounding_to_even():
    values = (0.5, 1.5, 2.5, -0.5, -1.5, 3.49)
    check(lambda x: (round(x[0].item()), x[0].round(), int(x[0].item() + 0.5)), [(torch.tensor([v]),) for v in values])


def test_float32_and_double_thresholds_differ():
    edge = torch.tensor([0.7, 0.1])
    check(
        lambda x: (x[0] < 0.7, x[0].item() < 0.7, 1 if x[0] < 0.7 else 2, 1 if x[0].item() < 0.7 else 2),
        [(edge,), (edge - 1,)],
    )


def test_dtypes_of_joined_tensors():
    check(lambda x: x if x[0] > 0 else x.to(torch.float64), randn(3))
    check(lambda x: x if x[0] > 0 else x.sum(), randn(3))


def test_integer_overflow_is_an_error():
    import pytest

    from toolchain.frontend import Call, explore
    from toolchain.ir.interpreter import Interpreter

    program = explore(lambda x: x[0].item() * 4, [Call((torch.tensor([1]),), {})])
    outcome = Interpreter(program).call(0, [torch.tensor([2**62])])
    with pytest.raises(OverflowError):
        raise outcome.exception


def test_named_results_of_pytorch_by_a_branch():
    def program(x):
        values, indices = x.topk(2) if x[0] > 0 else x.sort()
        best = x.max(0) if x[1] > 0 else (-x).max(0)
        return values, indices, best.values

    check(program, randn(3))

    def both(x):
        found = x.topk(2) if x[0] > 0 else (x * 2).topk(2)
        return found.values, found.indices

    check(both, randn(3))
