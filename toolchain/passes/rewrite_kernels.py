"""Rewrites the operations of every subgraph into those that run fastest. Not in place.

After deduplication, so that equal subgraphs are rewritten once; before the preparation of weights, which evaluates what
the rewritings do to weights.
"""

from __future__ import annotations

from dataclasses import replace

from toolchain.ir import Program
from toolchain.lowering.kernels import rewrite


def rewrite_kernels(program: Program) -> Program:
    return replace(program, subgraphs={name: rewrite(subgraph) for name, subgraph in program.subgraphs.items()})
