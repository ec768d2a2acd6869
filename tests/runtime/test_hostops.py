"""Host operations: Python's semantics, 64-bit integers, and tensors as PyTorch treats them."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from runtime_py import BundleError, DeviceError, HostOverflowError
from runtime_py import hostops as ops
from runtime_py.arrays import from_view, to_view
from runtime_py.device import current_device
from toolchain.ir import OPCODES

LOW, HIGH = -(2**63), 2**63 - 1
INTS = st.one_of(st.integers(LOW, HIGH), st.integers(-100, 100), st.sampled_from([LOW, LOW + 1, HIGH, 2**32, -1, 0]))

PYTHON = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "truediv": operator.truediv,
}


def view(value: torch.Tensor) -> Any:
    return to_view(value, current_device(), copy=True)


def tensor(value: Any) -> torch.Tensor:
    result: torch.Tensor = from_view(value, current_device(), "torch")
    return result


def test_every_opcode_has_a_definition() -> None:
    assert ops.OPERATIONS.keys() == OPCODES
    assert len(ops.OPERATIONS) == len(OPCODES)


@given(st.sampled_from(sorted(PYTHON)), INTS, INTS)
def test_integers_are_pythons_within_64_bits(opcode: str, a: int, b: int) -> None:
    try:
        expected = PYTHON[opcode](a, b)
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            ops.OPERATIONS[opcode](a, b)
        return
    if isinstance(expected, int) and not LOW <= expected <= HIGH:
        with pytest.raises(HostOverflowError) as caught:
            ops.OPERATIONS[opcode](a, b)
        assert isinstance(caught.value, OverflowError)
        assert caught.value.code == "RT307"
    else:
        assert ops.OPERATIONS[opcode](a, b) == expected


@given(st.floats(), st.floats())
def test_floats_are_pythons(a: float, b: float) -> None:
    for opcode in ("add", "sub", "mul", "lt", "eq"):
        assert repr(ops.OPERATIONS[opcode](a, b)) == repr(getattr(operator, opcode)(a, b))
    assert ops.select(True, a, b) is a
    assert repr(ops.min_(a, b)) == repr(min(a, b))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: ops.pow_(2, -1), 0.5),
        (lambda: ops.pow_(-2, 63), LOW),
        (lambda: ops.pow_(1, 10**6), 1),
        (lambda: ops.floordiv(-7, 2), -4),
        (lambda: ops.mod(-7, 2), 1),
        (lambda: ops.mod(7.5, -2.0), -0.5),
        (lambda: ops.round_(2.5), 2),
        (lambda: ops.round_digits(1.25, 1), 1.2),
        (lambda: ops.int_(-2.9), -2),
        (lambda: ops.and_(True, False), False),
        (lambda: ops.and_(6, 3), 2),
        (lambda: ops.invert(5), -6),
        (lambda: ops.lshift(1, 62), 2**62),
        (lambda: ops.rshift(-5, 1), -3),
        (lambda: ops.not_(0), True),
        (lambda: ops.floor(-1.5), -2),
        (lambda: ops.trunc(-1.5), -1),
        (lambda: ops.atan2(1.0, 0.0), math.pi / 2),
        (
            lambda: ops.format_(3, "a", 2.5, parts=("n=", (0, "", "03d"), " ", (1, "r", ""), (2, "", ".2f"))),
            "n=003 'a'2.50",
        ),
        (lambda: ops.concat("a", "b"), "ab"),
        (lambda: ops.str_(2.0), "2.0"),
    ],
)
def test_values(call: Any, expected: Any) -> None:
    assert call() == expected
    assert type(call()) is type(expected)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: ops.pow_(10, 10**9), HostOverflowError),
        (lambda: ops.lshift(1, 10**9), HostOverflowError),
        (lambda: ops.lshift(1, 63), HostOverflowError),
        (lambda: ops.neg(LOW), HostOverflowError),
        (lambda: ops.abs_(LOW), HostOverflowError),
        (lambda: ops.int_(1e300), HostOverflowError),
        (lambda: ops.pow_(-8.0, 0.5), DeviceError),
        (lambda: ops.lshift(1, -1), ValueError),
        (lambda: ops.sqrt(-1.0), ValueError),
        (lambda: ops.int_(math.nan), ValueError),
        (lambda: ops.int_(math.inf), OverflowError),
        (lambda: ops.truediv(1, 0), ZeroDivisionError),
    ],
)
def test_errors(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (torch.tensor(3), 3),
        (torch.tensor([[True]]), True),
        (torch.tensor(0.1), float(np.float32(0.1))),
        (torch.tensor(1.5, dtype=torch.bfloat16), 1.5),
        (torch.tensor(-0.25, dtype=torch.float16), -0.25),
        (torch.tensor(200, dtype=torch.uint8), 200),
        (torch.tensor(-5, dtype=torch.int8), -5),
        (torch.tensor(0.1, dtype=torch.float64), 0.1),
    ],
)
def test_item(value: torch.Tensor, expected: Any) -> None:
    assert ops.item(view(value)) == expected
    assert type(ops.item(view(value))) is type(expected)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_item_of_several(count: int) -> None:
    with pytest.raises(RuntimeError, match=f"a Tensor with {count} elements"):
        ops.item(view(torch.ones(count, dtype=torch.int16)))


def test_full_and_dim() -> None:
    made = ops.full(2, "float16", 0, 3)
    assert (ops.dim(made, 0), ops.dim(made, 1)) == (0, 3)
    assert torch.equal(tensor(ops.full(1.5, "bfloat16", 2)), torch.full((2,), 1.5, dtype=torch.bfloat16))
    assert torch.equal(tensor(ops.full(True, "bool")), torch.tensor(True))
    with pytest.raises(RuntimeError, match="int8 without overflow"):
        ops.full(300, "int8")


def test_lists_are_never_changed() -> None:
    values = [1, 2, 3]
    assert ops.list_append(values, 4) == [1, 2, 3, 4]
    assert ops.list_append(values, 4, 5) == [1, 2, 3, (4, 5)]
    assert ops.list_set(values, -1, 9) == [1, 2, 9]
    assert ops.list_insert(values, 0, 9) == [9, 1, 2, 3]
    assert ops.list_pop(values, 0) == [2, 3]
    assert ops.list_extend(values, values) == [1, 2, 3, 1, 2, 3]
    assert ops.list_slice(values, 1, None) == [2, 3]
    assert ops.list_reverse(values) == [3, 2, 1]
    assert ops.list_(1, 2, 3, 4, arity=2) == [(1, 2), (3, 4)]
    assert (ops.list_len(values), ops.list_get(values, -3)) == (3, 1)
    assert values == [1, 2, 3]


@pytest.mark.parametrize(
    "call",
    [
        lambda: ops.list_get([], 0),
        lambda: ops.list_pop([], -1),
        lambda: ops.list_set([1], 1, 0),
        lambda: ops.list_pop([1], 1),
    ],
)
def test_lists_raise_outside(call: Any) -> None:
    with pytest.raises(IndexError):
        call()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.int64])
def test_stack_and_cat(dtype: torch.dtype) -> None:
    parts = [torch.arange(6).reshape(2, 3).to(dtype), torch.ones(2, 3).to(dtype)]
    views = list(map(view, parts))
    assert torch.equal(tensor(ops.list_stack(views)), torch.stack(parts))
    assert torch.equal(tensor(ops.list_cat(views, 1)), torch.cat(parts, 1))
    assert torch.equal(tensor(ops.list_cat([view(torch.ones(0).to(dtype)), *views], -1)), torch.cat(parts, -1))


@pytest.mark.parametrize(
    "call",
    [
        lambda: ops.list_stack([]),
        lambda: ops.list_cat([], 0),
        lambda: ops.list_stack([view(torch.ones(2)), view(torch.ones(3))]),
        lambda: ops.list_cat([view(torch.ones(2, 2)), view(torch.ones(3, 3))], 0),
        lambda: ops.list_tensor([2**40], "int32"),
    ],
)
def test_tensors_raise_as_in_pytorch(call: Any) -> None:
    with pytest.raises(RuntimeError):
        call()


@given(st.lists(st.floats(width=32, allow_nan=False), max_size=5))
def test_lists_of_scalars_make_tensors_and_back(values: list[float]) -> None:
    assert ops.tensor_list(ops.list_tensor(values, "float32")) == values


def test_check_raises_the_built_in_type() -> None:
    ops.check(True, "ValueError", "no")
    with pytest.raises(AssertionError, match=r"^$"):
        ops.check(False, "AssertionError", "")
    with pytest.raises(KeyError, match="lost"):
        ops.check(False, "KeyError", "lost")
    with pytest.raises(BundleError) as caught:
        ops.check(False, "print", "x")
    assert caught.value.code == "RT106"


def test_output(capsys: pytest.CaptureFixture[str]) -> None:
    ops.print_("a", "")
    ops.print_("b")
    assert capsys.readouterr().out == "ab\n"
    with pytest.warns(DeprecationWarning, match="old"):
        ops.warn("old", "DeprecationWarning")
