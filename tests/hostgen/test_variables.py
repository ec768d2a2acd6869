from __future__ import annotations

from hostgen.inlining import choose_inlining
from hostgen.names import identifier
from hostgen.variables import share_variables
from tests.ir.programs import V, gates, make_program, positive, swap
from toolchain.ir import BOOL, FLOAT, INT, STR, Leaf, Sequence
from toolchain.ir.builder import FunctionBuilder
from toolchain.passes import run_pipeline


def test_a_value_threaded_through_gates_has_one_variable() -> None:
    [function] = run_pipeline(gates(5).program).functions
    variables = share_variables(function, choose_inlining(function))
    entry = function.blocks[0].parameters[0]
    threaded = [p for b in function.blocks for p in b.parameters]
    assert len(threaded) == 6
    assert {variables[p] for p in threaded} == {variables[entry]}


def test_what_is_needed_at_once_stays_apart() -> None:
    [function] = swap().program.functions
    variables = share_variables(function, choose_inlining(function))
    a, b, _ = function.blocks[1].parameters
    assert variables[a] != variables[b]


def test_a_value_used_after_a_loop_is_not_overwritten_in_it() -> None:
    f = FunctionBuilder("kept")
    entry, head, body, done = f.block(V), f.block(V), f.block(), f.block()
    [x0] = entry.parameters
    entry.jump(head, x0)
    [x] = head.parameters
    head.branch(positive(head, x), (body,), (done,))
    body.jump(head, body.tensor("aten.sub.Tensor", x, 1))
    done.return_(Sequence("tuple", (Leaf(x), Leaf(x0))))
    [function] = make_program(f.build()).functions
    variables = share_variables(function, choose_inlining(function))
    assert variables[x] != variables[x0]


def test_single_uses_are_inlined_and_what_may_raise_keeps_its_place() -> None:
    f = FunctionBuilder("inlined")
    entry = f.block(INT)
    [n] = entry.parameters
    moved = entry.host("add", n, 1, type=INT)
    kept = entry.host("floordiv", 8, n, type=INT)
    below = entry.host("lt", n, 5, type=BOOL)
    entry.effect("check", below, attributes=("ValueError", "large"))
    twice = entry.host("mul", moved, 2, type=INT)
    root = entry.host("sqrt", twice, type=FLOAT)
    entry.effect("print", entry.host("str", root, type=STR), attributes=("\n",))
    entry.return_(Leaf(kept))
    chosen = set(choose_inlining(f.build()).made_by)
    assert kept not in chosen
    assert {moved, below, twice, root} <= chosen


def test_names_of_users_become_identifiers() -> None:
    assert identifier("layer.0.cache") == "layer_0_cache"
    assert identifier("0") == "_0"
    assert identifier("") == "_"
