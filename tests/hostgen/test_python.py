"""The generated Python host: golden text, and it runs and agrees with the interpreter on all paths."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hostgen
from hostgen.python.emitter import _wrapped
from tests.hostgen.fake_runtime import FakeHost, plain
from tests.ir.compare import call, coin, same
from tests.ir.programs import (
    BOOL,
    CASES,
    STR,
    VECTORS,
    Case,
    V,
    carried_state,
    early_exits,
    gates,
    make_program,
    positive,
)
from tests.passes.pass_testing import random_case
from toolchain.diagnostics import UsageError
from toolchain.ir import INT, Leaf, Location, Mapping, Object, Program, Sequence
from toolchain.ir.builder import FunctionBuilder
from toolchain.ir.interpreter import Decide, Interpreter
from toolchain.passes import run_pipeline

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", CASES)
def test_text_is_the_golden_one(name: str) -> None:
    """``UPDATE_GOLDEN=1 pytest tests/hostgen`` rewrites the files."""
    text = hostgen.generate(run_pipeline(CASES[name]().program), "python")["program.py"]
    golden = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


def assert_agrees(program: Program, case: Case, decide: Callable[[], Decide | None]) -> None:
    for run in case.runs:
        interpreter, host = Interpreter(program), FakeHost(program)
        for leaves in run:
            expected = call(interpreter, leaves, decide())
            if expected is None:
                break
            actual = host.call(leaves, decide())
            assert actual.decisions == expected.decisions
            assert repr(actual.exception) == repr(expected.exception)
            if expected.result is not None:
                assert same(actual.result, plain(expected.result))
            assert same(actual.mutated, expected.mutated)
            assert same(host.state, interpreter.state)
            assert host.state_index == interpreter.state_index


@pytest.mark.parametrize("name", CASES)
def test_host_agrees_with_the_interpreter(name: str) -> None:
    case = CASES[name]()
    program = run_pipeline(case.program)
    assert_agrees(program, case, lambda: None)
    for seed in range(8):
        assert_agrees(program, case, lambda seed=seed: coin(seed))  # type: ignore[misc]


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32), size=st.integers(5, 60))
def test_host_agrees_on_random_programs(seed: int, size: int) -> None:
    case = random_case(seed, size)
    program = run_pipeline(case.program)
    assert_agrees(program, case, lambda: None)
    assert_agrees(program, case, lambda: coin(seed))


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_unoptimised_programs_run_too(seed: int) -> None:
    from toolchain.passes.partition import partition

    case = random_case(seed)
    assert_agrees(partition(case.program), case, lambda: None)


def body_lines(case: Case) -> list[str]:
    text = FakeHost(run_pipeline(case.program)).text
    return text[text.index("def ") : text.index("\n\n\nFUNCTIONS")].splitlines()


def test_a_gated_block_costs_two_lines() -> None:
    assert len(body_lines(gates(54))) == 2 * 54 + 4


def test_long_programs_stay_flat() -> None:
    for case in (gates(200), early_exits(200)):
        assert max(len(line) - len(line.lstrip()) for line in body_lines(case)) == 8


@pytest.mark.parametrize(("computes", "indent"), [(False, 8), (True, 44)])
def test_long_chains_of_alternatives_do_not_nest(computes: bool, indent: int) -> None:
    """``if ... elif ... elif ...``, where conditions may need tensor work of their own."""
    f = FunctionBuilder("alternatives")
    block, join = f.block(V, INT), f.block(V)
    x, n = block.parameters
    for i in range(150):
        chosen, onward = f.block(), f.block()
        if computes:
            condition = positive(block, block.tensor("aten.relu.default", x))
        else:
            condition = block.host("eq", n, i, type=BOOL)
        block.branch(condition, (chosen,), (onward,))
        chosen.jump(join, chosen.tensor("aten.mul.Tensor", x, i))
        block = onward
    block.jump(join, x)
    join.return_(Leaf(join.tensor("aten.relu.default", join.parameters[0])))
    case = Case(make_program(f.build(), inputs=(V, INT)), tuple(((run[0][0], 140),) for run in VECTORS))
    assert max(len(line) - len(line.lstrip()) for line in body_lines(case)) == indent
    assert_agrees(run_pipeline(case.program), case, lambda: None)


def test_very_many_results_are_wrapped() -> None:
    f = FunctionBuilder("many")
    entry, then, orelse = f.block(V), f.block(), f.block()
    [x] = entry.parameters
    values = [entry.tensor("aten.add.Tensor", x, i) for i in range(60)]
    entry.branch(positive(entry, x), (then,), (orelse,))
    then.return_(Sequence("list", tuple(map(Leaf, values[:30]))))
    orelse.return_(Sequence("list", tuple(map(Leaf, values[30:]))))
    case = Case(make_program(f.build()), VECTORS)
    assert all(len(line) <= 120 for line in body_lines(case) if "return" not in line)
    assert_agrees(run_pipeline(case.program), case, lambda: None)


@pytest.mark.parametrize("length", range(1, 24))
def test_wrapped_calls_are_python_wherever_the_line_ends(length: int) -> None:
    names = ", ".join([f"v{i}" for i in range(100, 117)] + ["v" * length])
    compile("\n".join(_wrapped(f"{names} = calls[0](source)", "    ")).strip(), "program.py", "exec")


def test_functions_of_one_name_stay_apart() -> None:
    program = carried_state().program
    twins = replace(program, functions=tuple(replace(f, name="forward") for f in program.functions))
    text = hostgen.generate(run_pipeline(twins), "python")["program.py"]
    assert "(0, 0): forward,\n    (0, 1): forward_2,\n" in text


def test_control_lines_show_the_users_source(tmp_path: Path) -> None:
    source = tmp_path / "model.py"
    source.write_text("\n    if conf > thr:\n")
    f = FunctionBuilder("commented")
    entry, then, orelse = f.block(("conf", V)), f.block(), f.block()
    entry.location = Location(str(source), 2)
    [x] = entry.parameters
    entry.branch(positive(entry, x), (then,), (orelse,))
    then.return_(Leaf(x))
    orelse.return_(Leaf(None))
    [line] = [line for line in body_lines(Case(make_program(f.build()), ())) if "if" in line]
    assert line == "    if decide(0, ops.item(p2)):  # model.py:2  if conf > thr:"


def test_every_kind_of_result() -> None:
    f = FunctionBuilder("results")
    entry = f.block(V)
    [x] = entry.parameters
    text = entry.host("concat", "a", 'b"', type=STR)
    tree = Mapping(
        ("list", 2, ("t", None)),
        (
            Sequence("list", (Leaf(float("inf")), Leaf(-1), Leaf(True))),
            Object("namedtuple", "lib", "Out", ("y", "z"), (Leaf(x), Sequence("tuple", (Leaf(text),)))),
            Sequence("set", ()),
        ),
    )
    entry.return_(tree)
    program = make_program(f.build())
    assert_agrees(run_pipeline(program), Case(program, gates(1).runs), lambda: None)


def test_an_unknown_host_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        hostgen.generate(gates(1).program, "fortran")
    assert caught.value.code == "TC223"


def test_every_operation_exists_in_the_runtime() -> None:
    from hostgen.names import host_function
    from runtime_py import hostops
    from toolchain.ir import OPCODES

    assert [o for o in sorted(OPCODES) if not hasattr(hostops, host_function(o))] == []
