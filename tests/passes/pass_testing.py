"""How every pass is tested: the program stays well formed and does the same, on natural and on forced paths."""

from __future__ import annotations

from tests.ir.compare import assert_equivalent, coin
from tests.ir.programs import MIXED, NEGATIVE, POSITIVE, Case
from tests.ir.random_programs import RandomProgram
from toolchain.ir import Block, Call, HostOp, Operation, Program, TensorOp
from toolchain.ir.verifier import verify
from toolchain.passes import Pass

RANDOM_RUNS = (((POSITIVE, 1),), ((NEGATIVE, 2),), ((MIXED, 5),))


def random_case(seed: int, size: int = 25) -> Case:
    return Case(RandomProgram(seed, size).make(), RANDOM_RUNS)


def check(change: Pass, case: Case, *before: Pass) -> Program:
    """``change`` applied to the case's program (after the passes ``before``), checked by running both."""
    program = case.program
    for earlier in before:
        program = earlier(program)
    verify(program)
    changed = change(program)
    verify(changed)
    assert_equivalent(program, changed, case.runs)
    assert_equivalent(program, changed, case.runs, lambda: coin(1))
    return changed


def blocks(program: Program) -> dict[int, Block]:
    [function] = program.functions
    return {b.id: b for b in function.blocks}


def operations(program: Program) -> list[Operation]:
    return [op for f in program.functions for b in f.blocks for op in b.operations]


def targets(program: Program) -> list[str]:
    """The tensor operations of a program before the partition, in order."""
    return [op.target for op in operations(program) if isinstance(op, TensorOp)]


def opcodes(program: Program) -> list[str]:
    return [op.opcode for op in operations(program) if isinstance(op, HostOp)]


def calls(block: Block) -> list[Call]:
    return [op for op in block.operations if isinstance(op, Call)]
