from __future__ import annotations

from tests.ir.programs import VECTORS, Case, V, make_program, nested_loops, positive, straight
from tests.passes.pass_testing import blocks, check
from toolchain.ir import Branch, Leaf
from toolchain.ir.builder import FunctionBuilder
from toolchain.passes.merge_blocks import merge_blocks


def test_a_chain_becomes_one_block() -> None:
    merged = check(merge_blocks, straight())
    [block] = blocks(merged).values()
    assert len(block.operations) == 3


def test_an_edge_skips_an_empty_block() -> None:
    f = FunctionBuilder("empty_else")
    entry, then, empty, join = f.block(V), f.block(), f.block(V), f.block(V)
    [x] = entry.parameters
    entry.branch(positive(entry, x), (then,), (empty, x))
    then.jump(join, then.tensor("aten.relu.default", x))
    empty.jump(join, empty.parameters[0])
    join.return_(Leaf(join.parameters[0]))
    merged = check(merge_blocks, Case(make_program(f.build()), VECTORS))
    assert set(blocks(merged)) == {entry.id, then.id, join.id}
    branch = blocks(merged)[entry.id].terminator
    assert isinstance(branch, Branch)
    assert branch.orelse.arguments == (x,)


def test_a_branch_whose_sides_are_equal_stays_a_decision() -> None:
    f = FunctionBuilder("equal_sides")
    entry, left, right, join = f.block(V), f.block(), f.block(), f.block()
    [x] = entry.parameters
    entry.branch(positive(entry, x), (left,), (right,))
    left.jump(join)
    right.jump(join)
    join.return_(Leaf(x))
    merged = check(merge_blocks, Case(make_program(f.build()), VECTORS))
    branch = blocks(merged)[entry.id].terminator
    assert isinstance(branch, Branch)
    assert branch.then == branch.orelse


def test_loop_heads_stay() -> None:
    merged = check(merge_blocks, nested_loops())
    assert sum(b.is_loop_head for b in blocks(merged).values()) == 2
