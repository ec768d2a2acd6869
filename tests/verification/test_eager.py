"""Programs in the machine on real tensors: the same results as Python, with decisions, margins and force."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from toolchain.frontend.eager import EagerRun, run_eager
from toolchain.frontend.margins import Margins, margin_of
from toolchain.ir import Location


def run(function: Callable[..., Any], *args: Any, answers: dict[int, bool] | None = None, fuel: int = 100) -> EagerRun:
    """``answers``: what to force, by the number of the decision."""
    count = iter(range(10_000))
    forced = answers or {}

    def decide(_: Location, natural: bool) -> bool:
        return forced.get(next(count), natural)

    return run_eager(function, args, {}, decide, fuel)


def collatz(n: torch.Tensor) -> tuple[int, list[int]]:
    seen = []
    k = n.item()
    while k != 1:
        k = k // 2 if k % 2 == 0 else 3 * k + 1
        seen.append(k)
    return len(seen), seen


def test_results_are_those_of_python() -> None:
    outcome = run(collatz, torch.tensor(6))
    assert outcome.result == (8, [3, 10, 5, 16, 8, 4, 2, 1])
    assert [type(x) for x in outcome.result[1]] == [int] * 8
    assert len(outcome.decisions) == 9 + 8
    assert {d.location.function for d in outcome.decisions} == {"collatz"}
    assert all(math.isinf(d.margin) for d in outcome.decisions)


def test_changes_in_place_happen() -> None:
    def change(x: torch.Tensor) -> float:
        x[0] = x.sum()
        if x[0] > 2:
            x.mul_(2)
        return float(x[0])

    x = torch.tensor([1.0, 2.0])
    assert run(change, x).result == 6.0
    assert x.tolist() == [6.0, 4.0]


def test_decisions_can_be_forced() -> None:
    def choose(x: torch.Tensor) -> str:
        flag = x.sum() > 0
        first = "yes" if flag else "no"
        return f"{first} {'yes' if flag else 'no'} {x.sum().item():.1f}"

    x = torch.ones(2)
    assert run(choose, x).result == "yes yes 2.0"
    forced = run(choose, x, answers={0: False})
    assert forced.result == "no no 2.0"
    assert [(d.answer, d.natural) for d in forced.decisions] == [(False, True)]


def test_exceptions_are_outcomes() -> None:
    def strict(x: torch.Tensor) -> torch.Tensor:
        if x.min() < 0:
            raise ValueError(f"negative: {x.min().item()}")
        return x.reshape(7)

    stated = run(strict, torch.tensor([-1.0]))
    assert (type(stated.exception), str(stated.exception), stated.stated) == (ValueError, "negative: -1.0", True)
    native = run(strict, torch.tensor([1.0]))
    assert (type(native.exception), native.stated) == (RuntimeError, False)


def test_fuel_ends_a_run() -> None:
    def endless(x: torch.Tensor) -> torch.Tensor:
        while x.sum() > 0:
            x = x + 1
        return x

    outcome = run(endless, torch.ones(2), fuel=12)
    assert (outcome.is_complete, len(outcome.decisions)) == (False, 12)


def test_numbers_reach_native_code_as_numbers() -> None:
    def mixed(x: torch.Tensor) -> tuple[Any, ...]:
        n, f = int(x.sum()), x.max().item()
        table = {3: "three"}
        return torch.zeros(n).shape[0], table[n], (x * f).tolist(), [0, 1, 2, 3][n], math.sqrt(f), sorted([f, 0.5])

    assert run(mixed, torch.tensor([1.0, 2.0])).result == (3, "three", [2.0, 4.0], 3, math.sqrt(2.0), [0.5, 2.0])


@pytest.mark.parametrize(
    ("decision", "margin"),
    [
        (lambda x: x.sum() > 2.5, 0.5 / 3),
        (lambda x: x.sum().item() > 2.5, 0.5 / 3),
        (lambda x: (x > 0.5).all(), 0.5),
        (lambda x: (x > 1.75).any(), 0.125),
        (lambda x: not bool(x.max() < 0), 1.0),
        (lambda x: x.argmax() == 1, 0.5),
        (lambda x: x.argmax().item() == 1, 0.5),
        (lambda x: (x.sum() > 2.5) & (x.sum() > 100), 97 / 100),
        (lambda x: (x > 1.5).sum() > 0, 0.25),
        (lambda x: (x > 1.5).float()[0] == 0, 1 / 3),
        (lambda x: torch.isnan(x).any(), math.inf),
        (lambda x: x.long().sum() > 2, math.inf),
    ],
)
def test_margins(decision: Callable[[torch.Tensor], Any], margin: float) -> None:
    def program(x: torch.Tensor) -> int:
        return 1 if decision(x) else 0

    (made,) = run(program, torch.tensor([1.0, 2.0])).decisions
    assert made.margin == pytest.approx(margin)


def test_margins_of_parts() -> None:
    with Margins():
        near = torch.tensor([[1.0, 2.0], [3.0, 4.0]]) > torch.tensor(2.5)
        assert margin_of(near) == pytest.approx(1 / 6)
        assert margin_of(near[0]) == pytest.approx(0.2)
        assert margin_of(near.all(1)[1]) == pytest.approx(1 / 6)
        assert margin_of(near.any(1)[1]) == pytest.approx(0.375)
        assert margin_of(near.float() * 2) == math.inf
        assert margin_of(torch.tensor([0.0, 0.0]) == 0.0) == math.inf
