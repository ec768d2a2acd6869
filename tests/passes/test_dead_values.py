from __future__ import annotations

from tests.ir.programs import CASES, VECTORS, Case, V, make_program, positive
from tests.passes.pass_testing import blocks, check, opcodes, targets
from toolchain.ir import BOOL, INT, Leaf
from toolchain.ir.builder import FunctionBuilder
from toolchain.passes.dead_values import drop_dead_values


def test_unused_operations_go_and_effects_stay() -> None:
    f = FunctionBuilder("unused")
    entry = f.block(V, INT)
    x, n = entry.parameters
    entry.tensor("aten.exp.default", entry.tensor("aten.neg.default", x))
    entry.host("add", n, 1, type=INT)
    entry.host("floordiv", 7, n, type=INT)  # may raise ZeroDivisionError
    entry.host("floordiv", n, 2, type=INT)  # may not
    entry.effect("check", entry.host("lt", n, 9, type=BOOL), attributes=("ValueError", "too large"))
    entry.effect("print", "seen", attributes=("\n",))
    entry.return_(Leaf(x))
    runs = tuple(((run[0][0], n),) for run in VECTORS for n in (0, 1, 10))
    changed = check(drop_dead_values, Case(make_program(f.build(), inputs=(V, INT)), runs))
    assert targets(changed) == []
    assert opcodes(changed) == ["floordiv", "lt", "check", "print"]


def test_a_value_that_only_feeds_itself_around_a_loop_goes() -> None:
    f = FunctionBuilder("cycle")
    entry, head, body, done = f.block(V), f.block(V, INT), f.block(), f.block()
    entry.jump(head, entry.parameters[0], 0)
    x, count = head.parameters
    head.branch(positive(head, x), (body,), (done,))
    body.jump(head, body.tensor("aten.sub.Tensor", x, 1), body.host("add", count, 1, type=INT))
    done.return_(Leaf(x))
    changed = check(drop_dead_values, Case(make_program(f.build()), VECTORS))
    assert blocks(changed)[head.id].parameters == (x,)
    assert opcodes(changed) == ["item"]


def test_entry_parameters_stay() -> None:
    for make in CASES.values():
        program = make().program
        changed = drop_dead_values(program)
        for before, after in zip(program.functions, changed.functions, strict=True):
            assert before.blocks[0].parameters == after.blocks[0].parameters
