"""The report of a program: its cuts in source order, its sizes, its text."""

from __future__ import annotations

from toolchain import Cut, Problem, Report, Summary
from toolchain.diagnostics.report import report_program
from toolchain.ir import (
    BOOL,
    Block,
    Branch,
    Edge,
    EntryPoint,
    Function,
    HostOp,
    Jump,
    Leaf,
    Location,
    Program,
    Raise,
    Return,
    Sequence,
    State,
    TensorType,
    Value,
)

X = Value(0, TensorType("bool", ()))
P = Value(1, BOOL)


def at(line: int) -> Location:
    return Location("net.py", line, function="forward")


def looping_program() -> Program:
    """while x: ...; raises after the loop."""
    read = HostOp("item", (X,), (P,), location=at(3))
    blocks = (
        Block(0, (X,), (), Jump(Edge(1)), location=at(2)),
        Block(1, (), (read,), Branch(P, Edge(2), Edge(3), location=at(3)), is_loop_head=True, location=at(3)),
        Block(2, (), (), Jump(Edge(1)), location=at(4)),
        Block(3, (), (), Raise("ValueError", ("bad",), location=at(5)), location=at(5)),
    )
    entry = EntryPoint("main", Sequence("tuple", ()), ())
    return Program("net", (entry,), (State(),), (), (Function("main", 0, 0, blocks),), {})


def test_cuts_come_in_source_order() -> None:
    report = report_program(looping_program())
    assert [(cut.kind, cut.line, cut.function) for cut in report.cuts] == [
        ("decision", 3, "forward"),
        ("loop", 3, "forward"),
        ("read", 3, "forward"),
        ("raise", 5, "forward"),
    ]
    assert report.ok


def test_the_summary_counts_blocks_decisions_and_loops() -> None:
    assert report_program(looping_program()).summary == Summary(
        entries=1, states=1, blocks=4, decisions=1, loops=1, subgraphs=0, instances=0
    )


def test_a_place_that_ends_up_in_several_blocks_is_one_cut() -> None:
    blocks = tuple(Block(i, (), (), Raise("ValueError", (), location=at(7)), location=at(7)) for i in range(3))
    end = Block(3, (), (), Return(Leaf(None)))
    program = Program("net", (), (State(),), (), (Function("main", 0, 0, (*blocks, end)),), {})
    assert report_program(program).cuts == (Cut("raise", "net.py", 7, "forward", "the host raises ValueError", 3),)


def test_the_text_numbers_cuts_and_ends_with_the_sizes() -> None:
    lines = str(report_program(looping_program())).splitlines()
    assert lines[0] == "1. decision: net.py:3: a decision that depends on values of tensors"
    assert lines[-1] == "1 entry, 1 state, 4 blocks, 1 decision, 1 loop, 0 subgraph calls of 0 different subgraphs"


def test_the_text_of_a_report_with_problems_lists_them() -> None:
    problems = (Problem("TC100", "net.py", 3, "first"), Problem("TC100", "net.py", 9, "second", "do that"))
    report = Report(None, (), problems)
    assert not report.ok
    assert str(report).splitlines() == [
        "the model cannot be built (2 problems)",
        "1. [TC100] net.py:3: first",
        "2. [TC100] net.py:9: second",
        "   instead: do that",
    ]
