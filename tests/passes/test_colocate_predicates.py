from __future__ import annotations

from tests.ir.programs import FLOAT, VECTORS, Case, P, S, V, early_exits, gates, make_program, positive, while_tensor
from tests.passes.pass_testing import blocks, calls, check
from toolchain.ir import BOOL, Leaf, Program
from toolchain.ir.builder import FunctionBuilder
from toolchain.passes.colocate_predicates import colocate_predicates
from toolchain.passes.partition import partition


def calls_per_block(program: Program) -> dict[int, int]:
    return {id: len(calls(block)) for id, block in blocks(partition(program)).items()}


def test_the_test_of_a_loop_is_computed_where_its_operand_is() -> None:
    case = while_tensor()
    assert calls_per_block(case.program) == {0: 1, 1: 1, 2: 1, 3: 0}
    assert calls_per_block(check(colocate_predicates, case)) == {0: 1, 1: 0, 2: 1, 3: 0}


def test_predicates_of_one_policy_come_from_one_call() -> None:
    case = gates(3)
    assert calls_per_block(case.program) == {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 0}
    assert calls_per_block(check(colocate_predicates, case)) == {0: 1, 1: 1, 2: 0, 3: 1, 4: 0, 5: 1, 6: 0}


def test_a_block_that_calls_anyway_keeps_its_predicate() -> None:
    case = early_exits(3)
    assert check(colocate_predicates, case).functions == case.program.functions


def test_nothing_expensive_is_computed_ahead_of_a_branch() -> None:
    f = FunctionBuilder("expensive")
    entry, then, yes, no = f.block(V), f.block(), f.block(), f.block()
    [x] = entry.parameters
    doubled = entry.tensor("aten.mul.Tensor", x, 2)
    entry.branch(positive(entry, doubled), (then,), (no,))
    spread = then.tensor("aten.sum.default", then.tensor("aten.exp.default", doubled), type=S)
    above = then.tensor("aten.gt.Scalar", spread, 9, type=P)
    then.branch(then.host("item", above, type=BOOL), (yes,), (no,))
    yes.return_(Leaf(doubled))
    no.return_(Leaf(x))
    case = Case(make_program(f.build()), VECTORS)
    assert check(colocate_predicates, case).functions == case.program.functions


def test_an_item_read_is_never_crossed() -> None:
    f = FunctionBuilder("double_precision")
    entry, then, orelse = f.block(V), f.block(), f.block()
    total = entry.tensor("aten.sum.default", entry.parameters[0], type=S)
    read = entry.host("item", total, type=FLOAT)
    entry.branch(entry.host("lt", read, 0.7, type=BOOL), (then,), (orelse,))
    then.return_(Leaf(1))
    orelse.return_(Leaf(2))
    case = Case(make_program(f.build()), VECTORS)
    assert check(colocate_predicates, case).functions == case.program.functions


def test_a_predicate_does_not_move_into_a_loop_that_it_was_outside_of() -> None:
    f = FunctionBuilder("after_loop")
    entry, head, body, done, yes, no = f.block(V), f.block(V), f.block(), f.block(), f.block(), f.block()
    entry.jump(head, entry.parameters[0])
    [x] = head.parameters
    doubled = head.tensor("aten.relu.default", x)
    head.branch(positive(head, doubled), (body,), (done,))
    body.jump(head, body.tensor("aten.sub.Tensor", x, 1))
    any_left = done.tensor("aten.any.default", doubled, type=P)
    done.branch(done.host("item", any_left, type=BOOL), (yes,), (no,))
    yes.return_(Leaf(doubled))
    no.return_(Leaf(x))
    case = Case(make_program(f.build()), VECTORS)
    assert check(colocate_predicates, case).functions == case.program.functions
