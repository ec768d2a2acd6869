from __future__ import annotations

import pytest
import torch

from tests.ir.programs import CASES, Case, L, S, V, checks, counted_loop, make_program, vector
from tests.passes.pass_testing import blocks, calls, check
from toolchain.ir import BOOL, FLOAT, INT, STR, HostOp, Leaf, Operation, Sequence, TensorOp, TensorType
from toolchain.ir.builder import FunctionBuilder
from toolchain.passes.partition import partition


def kinds(operations: tuple[Operation, ...]) -> list[str]:
    return [op.opcode if isinstance(op, HostOp) else "call" for op in operations]


@pytest.mark.parametrize("name", CASES)
def test_no_tensor_operation_is_left(name: str) -> None:
    changed = check(partition, CASES[name]())
    assert not any(isinstance(op, TensorOp) for f in changed.functions for b in f.blocks for op in b.operations)


def test_only_a_scalar_read_from_an_earlier_call_needs_a_later_one() -> None:
    block = blocks(check(partition, checks()))[0]
    expected = ["item", "ge", "check", "lt", "check", "call", "item", "sqrt", "call"]
    assert kinds(block.operations) == expected


def test_scalars_are_parameters_and_literals_stay_inside() -> None:
    changed = check(partition, counted_loop())
    [subgraph] = changed.subgraphs.values()
    assert [str(p.type) for p in subgraph.parameters] == ["tensor<4xfloat32>", "int"]
    assert [op.args[1] for op in subgraph.operations] == [0.5, subgraph.parameters[1]]


def test_a_check_comes_before_the_call_that_it_guards() -> None:
    f = FunctionBuilder("guard")
    entry = f.block(V, L)
    x, index = entry.parameters
    i = entry.host("item", index, type=INT)
    limit = entry.tensor("aten.sum.default", x, type=S)
    below = entry.host("lt", i, entry.host("item", limit, type=FLOAT), type=BOOL)
    entry.effect("check", below, attributes=("IndexError", "outside"))
    entry.return_(Leaf(entry.tensor("aten.select.int", x, 0, i, type=S)))
    program = make_program(f.build(), inputs=(V, L))
    runs = tuple(((vector(1, 0, 0, 1), torch.tensor(i)),) for i in (0, 1, 5))
    block = blocks(check(partition, Case(program, runs)))[0]
    assert kinds(block.operations) == ["item", "call", "item", "lt", "check", "call"]


def test_unused_results_are_not_returned_and_others_in_order() -> None:
    f = FunctionBuilder("results")
    entry = f.block(V)
    top, _ = entry.tensors("aten.topk.default", entry.parameters[0], 2, types=(V2, I2))
    low, where = entry.tensors("aten.topk.default", entry.parameters[0], 2, 0, False, types=(V2, I2))
    extent = entry.host("dim", where, type=INT, attributes=(0,))
    entry.effect("print", entry.host("str", extent, type=STR), attributes=("",))
    entry.return_(Leaf(entry.tensor("aten.add.Tensor", top, low, type=V2)))
    program = check(partition, Case(make_program(f.build()), (((vector(1, 2, 3, 4),),),)))
    [call] = calls(blocks(program)[0])
    assert [str(r.type) for r in call.results] == ["tensor<2xint64>", "tensor<2xfloat32>"]


V2, I2 = TensorType("float32", (2,)), TensorType("int64", (2,))


def test_each_nonzero_has_a_call_of_its_own() -> None:
    f = FunctionBuilder("masks")
    entry = f.block(V)
    (x,) = entry.parameters
    mask, positions = TensorType("bool", (4,)), TensorType("int64", (None, 1))
    above = entry.tensor("aten.nonzero.default", entry.tensor("aten.gt.Scalar", x, 0, type=mask), type=positions)
    below = entry.tensor("aten.nonzero.default", entry.tensor("aten.le.Scalar", x, 0, type=mask), type=positions)
    entry.return_(Sequence("tuple", (Leaf(above), Leaf(below))))
    program = make_program(f.build(), inputs=(V,))
    changed = check(partition, Case(program, (((vector(1, -1, 0, 2),),),)))
    assert len(changed.subgraphs) == 2
