from __future__ import annotations

import torch

from tests.ir.programs import VECTORS, Case, V, make_program, multiple_results, weight
from tests.passes.pass_testing import check
from toolchain.ir import Leaf, Sequence
from toolchain.ir.builder import FunctionBuilder
from toolchain.passes.constant_outputs import fold_constant_outputs


def test_what_leaves_and_needs_no_input_is_a_constant() -> None:
    changed = check(fold_constant_outputs, multiple_results())
    assert list(changed.constants) == ["folded.0"]
    assert torch.equal(changed.constants["folded.0"], torch.zeros(2))


def test_chains_are_evaluated_and_inner_values_are_left_to_the_compiler() -> None:
    f = FunctionBuilder("chain")
    entry = f.block(V)
    doubled = entry.tensor("aten.mul.Tensor", weight("w"), 2)
    negated = entry.tensor("aten.neg.default", doubled)
    inside = entry.tensor("aten.exp.default", weight("w"))
    entry.return_(
        Sequence("tuple", (Leaf(negated), Leaf(entry.tensor("aten.add.Tensor", entry.parameters[0], inside))))
    )
    program = make_program(f.build(), constants={"w": torch.arange(4.0)})
    changed = check(fold_constant_outputs, Case(program, VECTORS))
    assert sorted(changed.constants) == ["folded.0", "w"]
    assert torch.equal(changed.constants["folded.0"], torch.arange(4.0) * -2)


def test_random_numbers_are_not_constant() -> None:
    f = FunctionBuilder("noise")
    entry = f.block(V)
    entry.return_(Leaf(entry.tensor("aten.rand.default", (4,), type=V)))
    assert fold_constant_outputs(make_program(f.build())).constants == {}
