"""Passes over the control-flow graph: one file each, each a function from program to program."""

from __future__ import annotations

from collections.abc import Callable

from toolchain.ir import Program
from toolchain.ir.verifier import verify as verify_program
from toolchain.passes.colocate_predicates import colocate_predicates
from toolchain.passes.common_subexpressions import share_common_subexpressions
from toolchain.passes.constant_outputs import fold_constant_outputs
from toolchain.passes.dead_values import drop_dead_values
from toolchain.passes.deduplicate import deduplicate
from toolchain.passes.identity_outputs import replace_identities
from toolchain.passes.merge_blocks import merge_blocks
from toolchain.passes.partition import partition
from toolchain.passes.prepare_weights import prepare_weights
from toolchain.passes.redundant_parameters import drop_redundant_parameters
from toolchain.passes.rewrite_kernels import rewrite_kernels
from toolchain.passes.unreachable_blocks import drop_unreachable_blocks

Pass = Callable[[Program], Program]

PIPELINE: tuple[Pass, ...] = (
    drop_unreachable_blocks,
    merge_blocks,
    drop_redundant_parameters,
    replace_identities,
    fold_constant_outputs,
    share_common_subexpressions,
    drop_dead_values,
    merge_blocks,
    colocate_predicates,
    drop_redundant_parameters,
    drop_dead_values,
    merge_blocks,
    share_common_subexpressions,
    partition,
    deduplicate,
    rewrite_kernels,
    prepare_weights,
)


def run_pipeline(program: Program, verify: bool = False) -> Program:
    """``program`` optimised and partitioned into subgraphs.

    verify: check the program before the first and after every pass. Raises ``InvalidProgram`` if a pass broke it.
    """
    if verify:
        verify_program(program)
    for change in PIPELINE:
        program = change(program)
        if verify:
            verify_program(program)
    return program


__all__ = ["PIPELINE", "run_pipeline"]
