from __future__ import annotations

from tests.ir.programs import VECTORS, Case, V, diamond, make_program, positive
from tests.passes.pass_testing import blocks, check
from toolchain.ir import FLOAT, INT, Leaf, Sequence
from toolchain.ir.builder import FunctionBuilder
from toolchain.passes.redundant_parameters import drop_redundant_parameters


def test_a_parameter_with_one_incoming_value_is_replaced() -> None:
    changed = check(drop_redundant_parameters, diamond())
    join = [b for b in blocks(changed).values() if len(b.parameters) == 2]
    assert len(join) == 1


def test_around_a_loop_what_never_changes_is_no_parameter() -> None:
    f = FunctionBuilder("invariant")
    entry, head, body, done = f.block(V, INT), f.block(V, V, INT), f.block(), f.block()
    x0, n = entry.parameters
    entry.jump(head, x0, x0, n)
    x, same, i = head.parameters
    head.branch(positive(head, x), (body,), (done,))
    body.jump(head, body.tensor("aten.sub.Tensor", x, same), same, i)
    done.return_(Sequence("tuple", (Leaf(same), Leaf(i))))
    program = make_program(f.build(), inputs=(V, INT))
    runs = tuple(((run[0][0], 3),) for run in VECTORS)
    changed = check(drop_redundant_parameters, Case(program, runs))
    assert len(blocks(changed)[head.id].parameters) == 1


def test_equal_numbers_of_different_type_or_sign_are_not_the_same() -> None:
    f = FunctionBuilder("zeros")
    entry, other, join = f.block(V), f.block(), f.block(FLOAT)
    entry.branch(positive(entry, entry.parameters[0]), (join, 0.0), (other,))
    other.jump(join, -0.0)
    join.return_(Leaf(join.parameters[0]))
    changed = check(drop_redundant_parameters, Case(make_program(f.build()), VECTORS))
    assert len(blocks(changed)[join.id].parameters) == 1
