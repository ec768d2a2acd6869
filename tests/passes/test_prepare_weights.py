from __future__ import annotations

import torch

from tests.ir.programs import VECTORS, Case, V, make_program, positive, weight
from tests.passes.pass_testing import check
from toolchain.ir import Leaf, Operand, Program, TensorType, Value, instances
from toolchain.ir.builder import BlockBuilder, FunctionBuilder
from toolchain.passes.deduplicate import deduplicate
from toolchain.passes.partition import partition
from toolchain.passes.prepare_weights import prepare_weights

A, B = torch.tensor([1.0, -2.0, 3.0, 0.5]), torch.tensor([0.1, 0.2, 0.3, 0.4])
WIDE = TensorType("float32", (3, 4))


def both_branches(block_of: dict[str, str]) -> Program:
    """x + relu(w), with another w in each branch: ``block_of`` maps "then" and "orelse" to their names."""
    f = FunctionBuilder("branches")
    entry, then, orelse = f.block(V), f.block(), f.block()
    [x] = entry.parameters
    entry.branch(positive(entry, x), (then,), (orelse,))
    for block, name in ((then, block_of["then"]), (orelse, block_of["orelse"])):
        fixed = block.tensor("aten.relu.default", weight(name))
        block.return_(Leaf(block.tensor("aten.add.Tensor", x, fixed)))
    return make_program(f.build(), constants={"a": A, "b": B})


def straight(compute: object) -> Program:
    f = FunctionBuilder("straight")
    block = f.block(V)
    [x] = block.parameters
    assert callable(compute)
    block.return_(Leaf(compute(block, x)))
    return make_program(f.build(), constants={"a": A, "b": B})


def prepared(program: Program) -> Program:
    return check(prepare_weights, Case(program, VECTORS), partition, deduplicate)


def stored(program: Program) -> dict[str, torch.Tensor]:
    """The constants that were added."""
    return {name: t for name, t in program.constants.items() if ".prepared." in name}


def remaining(program: Program) -> list[str]:
    return [op.target for subgraph in program.subgraphs.values() for op in subgraph.operations]


def test_every_set_of_weights_is_prepared() -> None:
    changed = prepared(both_branches({"then": "a", "orelse": "b"}))
    assert "aten.relu.default" not in remaining(changed)
    assert [name[:11] for name in stored(changed)] == ["a.prepared.", "b.prepared."]
    torch.testing.assert_close(list(stored(changed).values()), [A.relu(), B.relu()])
    assert [weights for _, weights in instances(changed)][1:] == [(name,) for name in stored(changed)]


def test_equal_ones_are_made_once() -> None:
    assert len(stored(prepared(both_branches({"then": "a", "orelse": "a"})))) == 1


def test_an_expression_of_several_weights_is_one() -> None:
    def compute(block: BlockBuilder, x: Operand) -> Value:
        scale = block.tensor("aten.mul.Tensor", weight("a"), weight("b"))
        return block.tensor("aten.add.Tensor", x, block.tensor("aten.neg.default", scale))

    changed = prepared(straight(compute))
    assert remaining(changed) == ["aten.add.Tensor"]
    torch.testing.assert_close(list(stored(changed).values()), [-(A * B)])


def test_views_and_what_is_larger_than_its_weights_stay() -> None:
    def compute(block: BlockBuilder, x: Operand) -> Value:
        view = block.tensor("aten.reshape.default", weight("a"), (4,))
        wide = block.tensor("aten.repeat.default", weight("b"), (3, 1), type=WIDE)
        total = block.tensor("aten.add.Tensor", wide, block.tensor("aten.add.Tensor", x, view), type=WIDE)
        return block.tensor("aten.sum.dim_IntList", total, (0,), type=V)

    changed = prepared(straight(compute))
    assert stored(changed) == {}
    assert len(remaining(changed)) == 5


def test_what_draws_random_numbers_stays() -> None:
    def compute(block: BlockBuilder, x: Operand) -> Value:
        drawn = block.tensor("aten.bernoulli.p", weight("a"), 0.0)
        return block.tensor("aten.add.Tensor", x, drawn)

    assert "aten.bernoulli.p" in remaining(prepared(straight(compute)))
