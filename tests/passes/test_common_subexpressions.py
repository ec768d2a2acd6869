from __future__ import annotations

from tests.ir.programs import VECTORS, Case, ListType, V, make_program, positive
from tests.passes.pass_testing import check, opcodes, targets
from toolchain.ir import FLOAT, Leaf, Sequence
from toolchain.ir.builder import FunctionBuilder
from toolchain.passes.common_subexpressions import share_common_subexpressions


def test_equal_operations_are_done_once() -> None:
    f = FunctionBuilder("twice")
    entry, then, orelse = f.block(V), f.block(), f.block()
    [x] = entry.parameters
    first, second = (entry.tensor("aten.mul.Tensor", entry.tensor("aten.neg.default", x), 2) for _ in range(2))
    total = entry.tensor("aten.add.Tensor", first, second)
    positive(entry, total)
    entry.branch(positive(entry, total), (then,), (orelse,))
    then.return_(Leaf(total))
    orelse.return_(Leaf(first))
    changed = check(share_common_subexpressions, Case(make_program(f.build()), VECTORS))
    expected = ["aten.neg.default", "aten.mul.Tensor", "aten.add.Tensor", "aten.sum.default", "aten.gt.Scalar"]
    assert targets(changed) == expected
    assert opcodes(changed) == ["item"]


def test_literals_of_different_type_and_effects_are_different() -> None:
    f = FunctionBuilder("different")
    entry = f.block(V)
    [x] = entry.parameters
    results = [entry.tensor("aten.mul.Tensor", x, factor) for factor in (1, 1.0)]
    entry.effect("print", "twice", attributes=("\n",))
    entry.effect("print", "twice", attributes=("\n",))
    lists = [entry.host("list", type=ListType(t), attributes=(0,)) for t in (V, FLOAT)]
    entry.return_(Sequence("tuple", tuple(map(Leaf, (*results, *lists)))))
    changed = check(share_common_subexpressions, Case(make_program(f.build()), VECTORS))
    assert len(targets(changed)) == 2
    assert opcodes(changed) == ["print", "print", "list", "list"]
