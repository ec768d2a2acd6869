from __future__ import annotations

import pytest
import torch

from tests.ir.programs import VECTORS, Case, V, make_program, weight
from tests.passes.pass_testing import check, targets
from toolchain.ir import Argument, Leaf, Sequence, TensorType
from toolchain.ir.builder import FunctionBuilder
from toolchain.passes.identity_outputs import replace_identities


@pytest.mark.parametrize(
    ("target", "arguments"),
    [
        ("aten.alias.default", ()),
        ("aten.detach.default", ()),
        ("aten.clone.default", ()),
        ("aten.view.default", ((4,),)),
        ("aten.expand.default", ((4,),)),
        ("aten.slice.Tensor", (0, 0, 4)),
        ("aten.permute.default", ((-1,),)),
        ("aten.to.dtype", (torch.float32,)),
    ],
)
def test_an_operation_that_changes_nothing_is_its_operand(target: str, arguments: tuple[Argument, ...]) -> None:
    f = FunctionBuilder("identity")
    entry = f.block(V)
    entry.return_(Leaf(entry.tensor(target, entry.parameters[0], *arguments)))
    changed = check(replace_identities, Case(make_program(f.build()), VECTORS))
    assert targets(changed) == []
    assert changed.functions[0].blocks[0].terminator.result == Leaf(entry.parameters[0])  # type: ignore[union-attr]


def test_a_cast_and_a_real_slice_stay() -> None:
    f = FunctionBuilder("changes")
    entry = f.block(V)
    [x] = entry.parameters
    wide = entry.tensor("aten.to.dtype", x, torch.float64, type=TensorType("float64", (4,)))
    half = entry.tensor("aten.slice.Tensor", x, 0, 0, 2, type=TensorType("float32", (2,)))
    entry.return_(Sequence("tuple", (Leaf(wide), Leaf(half))))
    changed = check(replace_identities, Case(make_program(f.build()), VECTORS))
    assert targets(changed) == ["aten.to.dtype", "aten.slice.Tensor"]


def test_a_view_no_longer_needs_the_copy_in_front_of_it() -> None:
    f = FunctionBuilder("transposed")
    entry = f.block(TensorType("float32", (2, 3)))
    turned = entry.tensor("aten.t.default", entry.parameters[0], type=TensorType("float32", (3, 2)))
    dense = entry.tensor("aten.clone.default", turned, memory_format=torch.contiguous_format)
    entry.return_(Leaf(entry.tensor("aten.view.default", dense, (6,), type=TensorType("float32", (6,)))))
    program = make_program(f.build(), inputs=(TensorType("float32", (2, 3)),))
    changed = check(replace_identities, Case(program, (((torch.arange(6.0).reshape(2, 3),),),)))
    assert targets(changed) == ["aten.t.default", "aten.reshape.default"]


def test_a_copy_of_a_weight_is_the_weight() -> None:
    f = FunctionBuilder("weight_copy")
    entry = f.block(V)
    entry.return_(Leaf(entry.tensor("aten.clone.default", weight("w"))))
    program = make_program(f.build(), constants={"w": torch.ones(4)})
    changed = check(replace_identities, Case(program, VECTORS))
    assert changed.functions[0].blocks[0].terminator.result == Leaf(weight("w"))  # type: ignore[union-attr]
