from __future__ import annotations

from dataclasses import replace

from tests.ir.programs import if_else
from toolchain.ir import Block, Edge, Jump
from toolchain.ir.verifier import verify
from toolchain.passes.unreachable_blocks import drop_unreachable_blocks


def test_a_block_without_a_way_in_goes_and_the_order_is_restored() -> None:
    program = if_else().program
    [function] = program.functions
    entry, then, orelse = function.blocks
    stray = Block(99, (), (), Jump(Edge(then.id)))
    messy = replace(program, functions=(replace(function, blocks=(entry, orelse, stray, then)),))
    cleaned = drop_unreachable_blocks(messy)
    assert cleaned.functions == program.functions
    verify(cleaned)
