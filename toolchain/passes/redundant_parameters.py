"""Replaces block parameters that get the same operand on every edge. Not in place.

After merging, which removes the parameters of single-edge blocks; before all passes that look at what operands are.
"""

from __future__ import annotations

from dataclasses import replace

from toolchain.ir import Block, Constant, Edge, Function, Operand, Program, Value
from toolchain.ir.graph import Cfg
from toolchain.ir.verifier import fits
from toolchain.passes.rewrite import each_function, identity_key, map_edges, substitute


def drop_redundant_parameters(program: Program) -> Program:
    return each_function(program, _until_stable)


def _until_stable(function: Function) -> Function:
    while True:
        found = _redundant(function)
        if not found:
            return function
        function = substitute(without_parameters(function, set(found)), found)


def _redundant(function: Function) -> dict[Value, Operand]:
    """Parameters with the one operand that every edge passes, apart from the parameter itself (around a loop)."""
    cfg = Cfg(function)
    found: dict[Value, Operand] = {}
    for block in function.blocks[1:]:
        for index, parameter in enumerate(block.parameters):
            incoming = [edge.arguments[index] for _, edge in cfg.incoming[block.id]]
            distinct = {identity_key(o): o for o in incoming if o is not parameter and o != parameter}
            # A chain of replacements within one round could close a cycle: such parameters wait for the next round.
            if len(distinct) == 1:
                [operand] = distinct.values()
                if operand not in found and _same_type(operand, parameter):
                    found[parameter] = operand
    return found


def _same_type(operand: Operand, parameter: Value) -> bool:
    # A parameter may have forgotten extents that the operand knows; then its users were typed with less: keep it.
    if isinstance(operand, (Value, Constant)):
        return operand.type == parameter.type
    return fits(operand, parameter.type)


def without_parameters(function: Function, dropped: set[Value]) -> Function:
    """``function`` without some block parameters and the edge arguments that fed them."""
    kept = {b.id: [i for i, p in enumerate(b.parameters) if p not in dropped] for b in function.blocks}

    def trim(edge: Edge) -> Edge:
        return replace(edge, arguments=tuple(edge.arguments[i] for i in kept[edge.target]))

    def change(block: Block) -> Block:
        parameters = tuple(block.parameters[i] for i in kept[block.id])
        return replace(block, parameters=parameters, terminator=map_edges(block.terminator, trim))

    return replace(function, blocks=tuple(map(change, function.blocks)))
