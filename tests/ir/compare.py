"""Equality of what two runs of a program did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import torch

from toolchain.ir import Program
from toolchain.ir.interpreter import Decide, FuelExhausted, Interpreter, Outcome, outcome_leaves
from toolchain.ir.semantics import Datum


def same(a: Datum, b: Datum) -> bool:
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or repr(a) == repr(b))


def assert_same_outcome(a: Outcome, b: Outcome) -> None:
    assert [d[2] for d in a.decisions] == [d[2] for d in b.decisions]
    assert (type(a.exception), str(a.exception)) == (type(b.exception), str(b.exception))
    assert same(outcome_leaves(a), outcome_leaves(b)), (outcome_leaves(a), outcome_leaves(b))
    assert same(a.mutated, b.mutated)


def assert_equivalent(
    before: Program,
    after: Program,
    runs: Sequence[Sequence[Sequence[Datum]]],
    decide: Callable[[], Decide] | None = None,
) -> None:
    """Both programs do the same in every run; with ``decide``, which makes a decider for each, on forced paths."""
    for run in runs:
        first, second = Interpreter(before), Interpreter(after)
        for leaves in run:
            outcomes = [call(i, leaves, decide() if decide else None) for i in (first, second)]
            assert (outcomes[0] is None) == (outcomes[1] is None)
            if outcomes[0] is None or outcomes[1] is None:
                break
            assert_same_outcome(outcomes[0], outcomes[1])
            assert same(first.state, second.state)
            assert first.state_index == second.state_index


def call(interpreter: Interpreter, leaves: Sequence[Datum], decide: Decide | None) -> Outcome | None:
    """The outcome, or None for a forced path that does not end soon."""
    try:
        return interpreter.call(0, leaves, decide, fuel=3000)
    except FuelExhausted:
        assert decide is not None
        return None


def coin(seed: int) -> Decide:
    """Forces decisions by chance, the n-th by the seed and n alone; after some time lets the program decide."""
    random = Random(seed)
    left = 60

    def decide(function: str, block: int, condition: bool) -> bool:
        nonlocal left
        left -= 1
        return random.random() < 0.5 if left > 0 else condition

    return decide
