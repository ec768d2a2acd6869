"""Which values may turn out to be one and the same tensor or list.

A work-around for IREE 3.13: where the last use of a reference is to pass it to a block twice, or to return it twice,
the VM moves it to the first place and leaves null in the others. The compiler merges values as it simplifies, so what
may become equal there is passed as a second reference (``again__tensor``, ``again__list``).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeAlias

import networkx as nx

from toolchain.ir import Constant, Function, HostOp, ListType, Operand, TensorType, Value, edges_of
from toolchain.ir.signatures import type_of

Sharing: TypeAlias = Mapping[Hashable, int]


def sharing(function: Function) -> Sharing:
    """Tensors and lists to a number that those have in common which may be the same."""
    same = nx.Graph()
    parameters = {block.id: block.parameters for block in function.blocks}
    for block in function.blocks:
        for edge in edges_of(block.terminator):
            pairs = zip(parameters[edge.target], edge.arguments, strict=True)
            same.add_edges_from((parameter, _node(argument)) for parameter, argument in pairs if is_reference(argument))
        for op in block.operations:
            if isinstance(op, HostOp) and op.opcode == "select":
                same.add_edges_from((op.results[0], _node(o)) for o in op.operands[1:] if is_reference(o))
    return {node: number for number, group in enumerate(nx.connected_components(same)) for node in group}


def _node(operand: Operand) -> Hashable:
    # Weights of equal content are one parameter.
    return "weights" if isinstance(operand, Constant) else operand


def is_reference(operand: Operand) -> bool:
    return isinstance(operand, (Value, Constant)) and isinstance(type_of(operand), (TensorType, ListType))


def repeated(operands: list[Operand], shared: Sharing) -> list[bool]:
    """For each operand, whether it is a reference that may be the same as an earlier one."""
    seen: set[Hashable] = set()
    found = []
    for operand in operands:
        key = shared.get(_node(operand), _node(operand)) if is_reference(operand) else None
        found.append(key is not None and key in seen)
        seen.add(key)
    return found
