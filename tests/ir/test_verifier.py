"""One broken program per rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from tests.ir.programs import CASES, L, P, V, counted_loop, diamond, if_else, make_program, straight, weight
from toolchain.ir import (
    BOOL,
    FLOAT,
    INT,
    Block,
    Branch,
    Call,
    Edge,
    Function,
    HostOp,
    Jump,
    Leaf,
    ListType,
    Operation,
    Program,
    Return,
    State,
    StateSlot,
    TensorOp,
    TensorType,
    Terminator,
    TupleType,
    Value,
)
from toolchain.ir.builder import FunctionBuilder
from toolchain.ir.interpreter import Interpreter
from toolchain.ir.verifier import InvalidProgram, type_fits, verify
from toolchain.passes import run_pipeline


@pytest.mark.parametrize("name", CASES)
def test_all_hand_built_programs_are_well_formed(name: str) -> None:
    verify(CASES[name]().program)


def problems(program: Program) -> list[str]:
    with pytest.raises(InvalidProgram) as caught:
        verify(program)
    assert caught.value.code == "TC510"
    return list(caught.value.problems)


def with_blocks(program: Program, change: Callable[[Block], Block]) -> Program:
    [function] = program.functions
    return replace(program, functions=(replace(function, blocks=tuple(map(change, function.blocks))),))


def with_block(program: Program, id: int, **fields: object) -> Program:
    return with_blocks(program, lambda b: replace(b, **fields) if b.id == id else b)  # type: ignore[arg-type]


def one_operation(op: Operation, *parameters: Value) -> Program:
    """A program of one block that does ``op`` and returns nothing of it."""
    types = tuple(p.type for p in parameters)
    program = make_program(FUNCTION, inputs=types)
    block = Block(0, parameters, (op,), Return(Leaf(None)))
    return replace(program, functions=(replace(FUNCTION, blocks=(block,)),))


FUNCTION = Function("one", 0, 0, ())
X, N, XS = Value(0, V), Value(0, INT), Value(0, ListType(TupleType((V, INT))))
RESULT = 9


def host(opcode: str, *operands: object, result: object = None, attributes: tuple[object, ...] = ()) -> HostOp:
    results = (Value(RESULT, result),) if result else ()  # type: ignore[arg-type]
    return HostOp(opcode, operands, results, attributes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("op", "parameter", "text"),
    [
        (host("frobnicate"), X, "unknown host operation"),
        (host("add", N, result=INT), N, "takes 2 number(s)"),
        (host("add", N, 1, result=FLOAT), N, "gives int"),
        (host("truediv", N, 2, result=INT), N, "gives float"),
        (host("lt", N, 1, result=INT), N, "gives bool"),
        (host("item", X, result=INT), X, "gives float"),
        (host("dim", X, result=INT, attributes=(1,)), X, "the index of one of its dimensions"),
        (host("check", N, attributes=("ValueError", "text")), N, "takes a bool"),
        (host("full", N, result=V, attributes=("float32", 5)), N, "gives a tensor of that dtype"),
        (host("sqrt", N, 1, result=FLOAT), N, "takes 1 number(s)"),
        (host("floor", N, result=FLOAT), N, "gives int"),
        (host("select", N, 1, 2, result=INT), N, "takes a bool and two values"),
        (host("and", N, 1.5, result=INT), N, "takes 2 int(s)"),
        (host("list_get", XS, 0, result=V), XS, "gives 2 result(s)"),
        (host("list_append", XS, 0, result=XS.type), XS, "2 element operand(s)"),
        (host("round_digits", N, 1.0, result=INT), N, "takes a number and an int"),
        (host("print", N, attributes=("\n",)), N, "takes one string"),
        (TensorOp("aten.no_such_thing.default", (X,), (), (Value(RESULT, V),)), X, "unknown tensor operation"),
        (TensorOp("aten.neg.default", (X,), (), (Value(RESULT, INT),)), X, "a result is no tensor"),
        (Call("sg7", (X,), (), (Value(RESULT, V),)), X, "subgraph sg7 does not exist"),
    ],
)
def test_operations_are_typed(op: Operation, parameter: Value, text: str) -> None:
    [problem] = problems(one_operation(op, parameter))
    assert text in problem


def test_unique_definitions() -> None:
    program = if_else().program
    [x] = program.functions[0].blocks[0].parameters
    double = TensorOp("aten.neg.default", (x,), (), (x,))
    assert "%0 is defined twice" in str(problems(one_operation(double, x)))


def test_definitions_dominate_uses() -> None:
    program = diamond().program
    then = program.functions[0].blocks[1]
    foreign = then.operations[0].results[0]
    broken = with_block(program, 3, terminator=Return(Leaf(foreign)))
    assert problems(broken) == [f"function diamond: ^3: {foreign} is not defined on every way to: return {foreign}"]


@pytest.mark.parametrize(
    ("terminator", "text"),
    [
        (Jump(Edge(77)), "leads to ^77, which does not exist"),
        (Jump(Edge(3)), "0 arguments for the 3 parameters of ^3"),
        (Jump(Edge(3, (X, 1.0, X))), "argument 1.0 is no int"),
        (Return(Leaf(None), next_state=4), "state 4 does not exist"),
        (Return(Leaf(None), state=(1,)), "1 values for the 0 slots"),
        (Return(Leaf(None), mutated=((0, 3),)), "input 0 cannot become 3"),
        (Branch(X, Edge(3, (X, 1, X)), Edge(3, (X, 1, X))), "the condition is tensor<4xfloat32>, not bool"),
        (Return(Leaf(weight("nowhere"))), "constant @nowhere does not exist"),
    ],
)
def test_terminators(terminator: Terminator, text: str) -> None:
    assert text in str(problems(with_block(diamond().program, 1, terminator=terminator)))


def test_loop_heads_are_marked_right() -> None:
    unmarked = with_blocks(counted_loop().program, lambda b: replace(b, is_loop_head=False))
    assert problems(unmarked) == ["function counted_loop: ^1 is a loop head, but marked otherwise"]
    marked = with_block(diamond().program, 3, is_loop_head=True)
    assert problems(marked) == ["function diamond: ^3 is not a loop head, but marked otherwise"]


def test_reducibility_and_order() -> None:
    program = diamond().program
    crossed = with_block(with_block(program, 1, terminator=Jump(Edge(2))), 2, terminator=Jump(Edge(1)))
    assert "irreducible: ^1 leads back to ^2" in str(problems(crossed))
    [function] = program.functions
    entry, then, orelse, join = function.blocks
    shuffled = replace(program, functions=(replace(function, blocks=(entry, join, then, orelse)),))
    assert "not in reverse postorder" in str(problems(shuffled))
    stray = replace(program, functions=(replace(function, blocks=(*function.blocks, replace(then, id=9))),))
    assert "^9 is unreachable" in str(problems(stray))


def test_the_entry_takes_state_and_inputs() -> None:
    program = replace(if_else().program, states=(State((StateSlot("count", INT),)),), initial_state=(0,))
    assert "state and inputs are (int, tensor<4xfloat32>)" in str(problems(program))


def test_initial_values_fit_their_slots() -> None:
    program = replace(if_else().program, initial_state=(1,))
    assert "1 initial values for 0 slots" in str(problems(program))


def test_constants_have_the_declared_type() -> None:
    program = replace(straight().program, constants={"bias": torch.ones(5)})
    assert "constant @bias is tensor<5xfloat32>, not tensor<4xfloat32>" in str(problems(program))


def test_calls_match_their_subgraph() -> None:
    program = run_pipeline(straight().program)
    [block] = program.functions[0].blocks
    [call] = block.operations
    assert isinstance(call, Call)
    short = with_block(program, 0, operations=(replace(call, operands=()),))
    assert "another number of parameters" in str(problems(short))
    wrong = with_block(program, 0, operations=(replace(call, weights=("gone",)),))
    assert "weight @gone is no tensor<4xfloat32>" in str(problems(wrong))


def test_subgraphs_compute_their_results() -> None:
    program = run_pipeline(straight().program)
    [subgraph] = program.subgraphs.values()
    returns_input = replace(subgraph, results=subgraph.parameters)
    assert "result %0 is not computed here" in str(problems(replace(program, subgraphs={"sg0": returns_input})))
    unordered = replace(subgraph, operations=subgraph.operations[::-1])
    assert "%2 is used before it is defined" in str(problems(replace(program, subgraphs={"sg0": unordered})))


def test_extents_may_be_forgotten_and_nothing_else() -> None:
    dynamic = TensorType("float32", (None,))
    assert type_fits(V, dynamic)
    assert not type_fits(dynamic, V)
    assert not type_fits(V, TensorType("float64", (4,)))
    assert type_fits(ListType(None), ListType(V))
    assert type_fits(ListType(V), ListType(dynamic))
    assert not type_fits(ListType(V), ListType(None))
    assert not type_fits(INT, FLOAT)
    assert not type_fits(BOOL, INT)


def test_all_problems_come_at_once() -> None:
    program = with_block(diamond().program, 1, terminator=Return(Leaf(weight("nowhere")), next_state=4))
    assert len(problems(program)) == 2


def test_a_valid_program_runs() -> None:
    f = FunctionBuilder("full")
    entry = f.block(L)
    entry.return_(Leaf(entry.host("full", True, type=P, attributes=("bool",))))
    program = make_program(f.build(), inputs=(L,))
    verify(program)
    outcome = Interpreter(program).call(0, (torch.tensor(1),))
    assert outcome.exception is None
