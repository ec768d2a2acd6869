from __future__ import annotations

import pytest
import torch

from tests.ir.compare import same
from tests.ir.programs import (
    INT,
    MIXED,
    NEGATIVE,
    POSITIVE,
    V,
    accumulate,
    carried_state,
    checks,
    counted_loop,
    if_else,
    make_program,
    nested_loops,
    vector,
    while_tensor,
)
from toolchain.ir import BOOL, FLOAT, STR, HostOp, Leaf, ListType, TensorType, TupleType, Type, Value
from toolchain.ir.builder import FunctionBuilder
from toolchain.ir.interpreter import FuelExhausted, Interpreter, outcome_leaves
from toolchain.ir.semantics import Datum, run_host_op


def test_both_sides_of_a_branch() -> None:
    interpreter = Interpreter(if_else().program)
    outcome = interpreter.call(0, (POSITIVE,))
    assert outcome.decisions == (("if_else", 0, True),)
    assert same(outcome_leaves(outcome), (POSITIVE,))
    assert same(outcome_leaves(interpreter.call(0, (NEGATIVE,))), (-NEGATIVE,))


def test_decisions_can_be_forced() -> None:
    outcome = Interpreter(if_else().program).call(0, (POSITIVE,), decide=lambda function, block, condition: False)
    assert outcome.decisions == (("if_else", 0, False),)
    assert same(outcome_leaves(outcome), (-POSITIVE,))


def test_loops_agree_with_python() -> None:
    x = MIXED
    for i in range(3):
        x = x * 0.5 + i
    assert same(outcome_leaves(Interpreter(counted_loop().program).call(0, (MIXED, 3))), (x, 3))


def test_a_forced_loop_runs_out_of_fuel() -> None:
    with pytest.raises(FuelExhausted) as caught:
        Interpreter(while_tensor().program).call(0, (MIXED,), decide=lambda *_: True, fuel=100)
    assert caught.value.code == "TC511"


def test_prints_as_the_program_does(capsys: pytest.CaptureFixture[str]) -> None:
    Interpreter(nested_loops().program).call(0, (NEGATIVE,))
    assert capsys.readouterr().out == "exhausted\n"


def test_checks_raise_and_lists_grow() -> None:
    outcome = Interpreter(checks().program).call(0, (POSITIVE, torch.tensor(4)))
    assert isinstance(outcome.exception, IndexError)
    assert str(outcome.exception) == "too large"
    mean, sums, collected, text = outcome_leaves(Interpreter(accumulate().program).call(0, (POSITIVE, 2)))
    assert same(mean, POSITIVE + 0.5)
    assert sums == [10.0, 14.0]
    assert len(collected) == 2
    assert text == "n=002"


def test_state_is_kept_between_calls_and_over_a_raise() -> None:
    interpreter = Interpreter(carried_state().program)
    interpreter.call(0, (MIXED,))
    assert interpreter.state_index == 1
    failed = interpreter.call(0, (NEGATIVE,))
    assert isinstance(failed.exception, ValueError)
    assert same(interpreter.state, (1, MIXED + NEGATIVE))
    changed = interpreter.call(0, (POSITIVE * 2,))
    assert same(changed.mutated, ((0, MIXED + NEGATIVE + POSITIVE * 2),))
    interpreter.reset()
    assert interpreter.state_index == 0


def test_what_a_tensor_operation_raises_is_no_outcome() -> None:
    f = FunctionBuilder("mismatch")
    entry = f.block(V)
    entry.return_(Leaf(entry.tensor("aten.view.default", entry.parameters[0], (5,))))
    with pytest.raises(RuntimeError, match="invalid for input"):
        Interpreter(make_program(f.build())).call(0, (POSITIVE,))


PAIRS = ListType(TupleType((INT, STR)))


@pytest.mark.parametrize(
    ("opcode", "operands", "attributes", "type", "expected"),
    [
        ("floordiv", (-7, 2), (), INT, -4),
        ("mod", (-7, 2), (), INT, 1),
        ("round", (2.5,), (), INT, 2),
        ("xor", (True, False), (), BOOL, True),
        ("invert", (5,), (), INT, -6),
        ("pow", (2, -1), (), FLOAT, 0.5),
        ("min", (3, 1, 2), (), INT, 1),
        ("format", (3, "x"), (("a", (0, "", "02d"), (1, "r", "")),), STR, "a03'x'"),
        ("concat", ("a", "b"), (), STR, "ab"),
        ("select", (False, 1, 2), (), INT, 2),
        ("list", (1, "a", 2, "b"), (2,), PAIRS, [(1, "a"), (2, "b")]),
        ("list_append", ([(1, "a")], 2, "b"), (), PAIRS, [(1, "a"), (2, "b")]),
        ("list_set", ([1, 2], -1, 5), (), ListType(INT), [1, 5]),
        ("list_insert", ([1, 2], 0, 5), (), ListType(INT), [5, 1, 2]),
        ("list_pop", ([1, 2], 0), (), ListType(INT), [2]),
        ("list_extend", ([1], [2]), (), ListType(INT), [1, 2]),
        ("list_slice", ([1, 2, 3], None, -1), (), ListType(INT), [1, 2]),
        ("list_reverse", ([1, 2],), (), ListType(INT), [2, 1]),
        ("list_tensor", ([1, 2],), ("float32",), TensorType("float32", (None,)), vector(1, 2)),
        ("list_cat", ([vector(1), vector(2, 3)],), (0,), TensorType("float32", (None,)), vector(1, 2, 3)),
        ("tensor_list", (torch.tensor([1, 2]),), (), ListType(INT), [1, 2]),
        ("full", (2,), ("float32", 2), TensorType("float32", (2,)), vector(2, 2)),
        ("dim", (torch.zeros(2, 3),), (1,), INT, 3),
    ],
)
def test_host_operations(
    opcode: str, operands: tuple[Datum, ...], attributes: tuple[object, ...], type: Type, expected: Datum
) -> None:
    op = HostOp(opcode, (), (Value(0, type),), attributes)
    assert same(run_host_op(op, operands), (expected,))


def test_several_results_of_one_element() -> None:
    op = HostOp("list_get", (), (Value(0, INT), Value(1, STR)))
    assert run_host_op(op, ([(1, "a"), (2, "b")], -1)) == (2, "b")


def test_integers_have_64_bits() -> None:
    op = HostOp("add", (), (Value(0, INT),))
    assert run_host_op(op, (2**62, 2**62 - 1)) == (2**63 - 1,)
    with pytest.raises(OverflowError, match="64 bits"):
        run_host_op(op, (2**62, 2**62))


def test_warnings_have_their_category() -> None:
    with pytest.warns(DeprecationWarning, match="old"):
        run_host_op(HostOp("warn", (), ()), ("old", "DeprecationWarning"))
