from __future__ import annotations

import torch

from tests.lowering.kernels.rewriting_testing import check, random, targets
from tests.lowering.support import Case
from toolchain.lowering.kernels import sink_permutes

X, Y = random(1, 2, 3, 4), random(1, 2, 3, 4, seed=1)


def last(x: torch.Tensor) -> torch.Tensor:
    return x.permute(0, 2, 3, 1)


def first(x: torch.Tensor) -> torch.Tensor:
    return x.permute(0, 3, 1, 2)


def test_opposite_permutations_cancel_across_pointwise_operations() -> None:
    case = Case(lambda x, y: last(torch.relu(first(x) + first(y)) * 2).sum(1), (X, Y))
    assert targets(check(sink_permutes, case)) == ["add", "relu", "mul", "sum"]


def test_others_become_one() -> None:
    assert targets(check(sink_permutes, Case(lambda x: first(first(x).exp()), (X,)))) == ["exp", "permute"]


def test_both_layouts_may_be_used() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = first(x).relu()
        return y, last(y) + 1

    assert targets(check(sink_permutes, Case(function, (X,)))) == ["relu", "permute", "add"]


def test_an_input_is_not_returned_as_it_is() -> None:
    assert targets(check(sink_permutes, Case(lambda x: last(first(x)), (X,)))) == ["clone"]


def test_a_value_is_not_returned_twice() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.exp()
        return y, last(first(y))

    assert targets(check(sink_permutes, Case(function, (X,)))) == ["exp", "clone"]


def test_different_layouts_and_shapes_stay() -> None:
    case = Case(lambda x, y, z: first(x) + y + first(z), (X, Y.permute(0, 3, 1, 2), random(1, 1, 1, 4)))
    assert targets(check(sink_permutes, case)).count("permute") == 2


def test_unknown_extents_stay() -> None:
    case = Case(lambda x: last(first(x).relu()), (X,), dynamic=True, runs=((Y,),))
    assert targets(check(sink_permutes, case)) == ["permute", "relu", "permute"]
