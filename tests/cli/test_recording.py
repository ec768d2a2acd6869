"""Recording examples in eager PyTorch: in order, on a copy, with arguments as they were before the call."""

from __future__ import annotations

import sys
import warnings

import pytest
import torch
from torch import nn

from toolchain import Dynamic, Example
from toolchain.recording import RecordedCall, call_arguments, record


class Counting(nn.Module):
    """Returns its buffer itself, which the next call changes in place."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total += x
        return self.total


class ShapeError(ValueError):
    """An exception of the user's."""


def test_a_stateful_module_sees_the_earlier_calls_and_stays_as_it_was() -> None:
    module = Counting().eval()
    calls = record(module, [Example((torch.ones(1),)), Example((torch.full((1,), 2.0),))])
    assert [call.result.item() for call in calls] == [1.0, 3.0]
    assert module.total.item() == 0.0


def test_arguments_are_kept_as_they_were_before_the_call() -> None:
    example = Example((torch.zeros(2),))
    (call,) = record(lambda x: x.add_(1), [example])
    assert call.args[0].tolist() == [0.0, 0.0]
    assert call.result.tolist() == [1.0, 1.0]
    assert call.after is not None
    assert call.after[0][0].tolist() == [1.0, 1.0]
    assert example.args[0].tolist() == [0.0, 0.0]
    (unchanged,) = record(lambda x: x + 1, [example])
    assert unchanged.after is None


def test_dynamic_markers_are_replaced_wherever_they_are() -> None:
    example = Example(([Dynamic(1), 2], {"a": (Dynamic(0.5),)}), {"k": Dynamic(True)})
    assert call_arguments(example) == (([1, 2], {"a": (0.5,)}), {"k": True})


def test_exceptions_become_their_nearest_built_in_type() -> None:
    def refuse(x: torch.Tensor) -> None:
        raise ShapeError("too small")

    assert record(refuse, [Example((1,))]) == (RecordedCall((1,), {}, exception=("ValueError", "too small")),)


def test_printed_lines_are_recorded_and_warnings_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    def speak(x: int) -> int:
        print("got", x)
        print("problem", file=sys.stderr)
        warnings.warn("careful", stacklevel=1)
        return x

    (call,) = record(speak, [Example((3,))])
    assert (call.result, call.printed) == (3, "got 3\n")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "problem\n")


def test_results_carry_no_gradient() -> None:
    (call,) = record(nn.Linear(2, 2).eval(), [Example((torch.ones(1, 2),))])
    assert not call.result.requires_grad
