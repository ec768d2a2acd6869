"""Lets subgraphs that are equal up to the values of their weights share one subgraph. Not in place.

Last, on finished subgraphs: every distinct one costs a compilation and a module in the bundle.
"""

from __future__ import annotations

from dataclasses import replace

from toolchain.ir import Block, Call, Operation, Program, Subgraph
from toolchain.lowering.canonical import canonical_text


def deduplicate(program: Program) -> Program:
    first: dict[str, Subgraph] = {}
    shared: dict[str, str] = {}
    for name, subgraph in program.subgraphs.items():
        shared[name] = first.setdefault(canonical_text(subgraph), subgraph).name
    functions = tuple(replace(f, blocks=tuple(_redirected(b, shared) for b in f.blocks)) for f in program.functions)
    return replace(program, functions=functions, subgraphs={s.name: s for s in first.values()})


def _redirected(block: Block, shared: dict[str, str]) -> Block:
    def redirect(op: Operation) -> Operation:
        return replace(op, subgraph=shared[op.subgraph]) if isinstance(op, Call) else op

    return replace(block, operations=tuple(map(redirect, block.operations)))
