"""Structured control flow: its shape on known graphs, and on long ones."""

from __future__ import annotations

from collections.abc import Iterator

from hostgen.structure import (
    Assign,
    Basic,
    Continue,
    End,
    Group,
    If,
    Leave,
    Loop,
    Region,
    Statement,
    falls_through,
    structure,
)
from tests.ir.programs import (
    CASES,
    Case,
    V,
    counted_loop,
    early_exits,
    gates,
    make_program,
    nested_loops,
    positive,
    short_circuit,
)
from toolchain.ir import Leaf
from toolchain.ir.builder import FunctionBuilder
from toolchain.passes import run_pipeline


def outline(region: Region) -> list[object]:
    """Block ids and nesting: ``["if", [then], [else]]``, ``["loop", body]``, ``"leave 1"``."""
    return [part for s in region for part in _outline(s)]


def _outline(statement: Statement) -> Iterator[object]:
    match statement:
        case Basic(block=block):
            yield block.id
        case If(then=then, orelse=orelse):
            yield ["if", outline(then), outline(orelse)]
        case Loop(body=body):
            yield ["loop", *outline(body)]
        case Group(body=body):
            yield ["group", *outline(body)]
        case Leave(levels=levels):
            yield f"leave {levels}"
        case Continue(levels=levels):
            yield f"continue {levels}"
        case End():
            yield "end"
        case Assign():
            yield "assign"


def depth(region: Region) -> int:
    nested = [0]
    for statement in region:
        match statement:
            case If(then=then, orelse=orelse):
                nested += [1 + depth(then), 1 + depth(orelse)]
            case Loop(body=body) | Group(body=body):
                nested.append(1 + depth(body))
    return max(nested)


def structured(case: Case) -> Region:
    [function] = run_pipeline(case.program).functions
    return structure(function)


def test_a_counted_loop() -> None:
    expected = [0, "assign", ["loop", 1, ["if", [], ["leave 1"]], 2, "assign"], 3, "end"]
    assert outline(structured(counted_loop())) == expected


def test_a_condition_of_two_parts_is_a_group() -> None:
    inner = ["if", [2, "assign", "leave 1"], []]
    expected = [["group", 0, ["if", [1, inner], []], 3, "assign"], 4, "end"]
    assert outline(structured(short_circuit())) == expected


def test_continuing_an_outer_loop() -> None:
    text = str(outline(structured(nested_loops())))
    assert text.count("continue 1") == 1
    assert text.count("loop") == 2
    assert "group" not in text


def test_an_inner_loop_at_the_end_of_an_outer_needs_no_flag() -> None:
    f = FunctionBuilder("inner_last")
    entry, outer, inner, body, done = f.block(V), f.block(V), f.block(V), f.block(), f.block()
    entry.jump(outer, entry.parameters[0])
    [x] = outer.parameters
    outer.branch(positive(outer, x), (inner, x), (done,))
    [y] = inner.parameters
    inner.branch(positive(inner, y), (body,), (outer, y))
    body.jump(inner, body.tensor("aten.sub.Tensor", y, 1))
    done.return_(Leaf(x))
    [function] = make_program(f.build()).functions
    expected_inner = ["loop", 2, ["if", [], ["assign", "leave 1"]], 3, "assign"]
    expected = [0, "assign", ["loop", 1, ["if", [], ["leave 1"]], "assign", expected_inner], 4, "end"]
    assert outline(structure(function)) == expected


def test_long_chains_stay_flat() -> None:
    assert depth(structured(gates(200))) == 1
    assert depth(structured(early_exits(200))) == 1
    [function] = gates(1500).program.functions
    assert depth(structure(function)) == 1


def test_every_block_appears_once_and_every_path_ends() -> None:
    for make in CASES.values():
        for function in run_pipeline(make().program).functions:
            region = structure(function)
            assert sorted(blocks_in(region)) == sorted(b.id for b in function.blocks)
            assert not falls_through(region)


def blocks_in(region: Region) -> Iterator[int]:
    for statement in region:
        match statement:
            case Basic(block=block):
                yield block.id
            case If(then=then, orelse=orelse):
                yield from blocks_in((*then, *orelse))
            case Loop(body=body) | Group(body=body):
                yield from blocks_in(body)
