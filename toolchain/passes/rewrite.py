"""What passes share: replacing values, and applying a change to every function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from toolchain.ir import (
    Argument,
    Block,
    Branch,
    Call,
    Constant,
    Edge,
    Function,
    HostOp,
    Jump,
    Operand,
    Operation,
    Program,
    Raise,
    Return,
    TensorOp,
    Terminator,
    Value,
    map_argument,
    operands_of,
    replace_leaves,
    structure_leaves,
)
from toolchain.ir.builder import normalised

Substitution = Mapping[Value, Operand]


def each_function(program: Program, change: Callable[[Function], Function]) -> Program:
    """``program`` with every function changed, put back into reverse postorder and with its loop heads marked."""
    return replace(program, functions=tuple(normalised(change(f)) for f in program.functions))


def resolved(substitution: Substitution) -> Substitution:
    """``substitution`` with chains shortened: what replaces a value is itself never replaced."""

    def end(operand: Operand) -> Operand:
        while isinstance(operand, Value) and operand in substitution:
            operand = substitution[operand]
        return operand

    return {value: end(value) for value in substitution}


def substitute(function: Function, substitution: Substitution) -> Function:
    """``function`` with every use of a replaced value replaced; definitions stay."""
    if not substitution:
        return function
    final = resolved(substitution)
    return replace(function, blocks=tuple(_substitute_block(b, final) for b in function.blocks))


def _substitute_block(block: Block, final: Substitution) -> Block:
    operations = tuple(substitute_operation(op, final) for op in block.operations)
    return replace(block, operations=operations, terminator=substitute_terminator(block.terminator, final))


def substitute_operation(op: Operation, final: Substitution) -> Operation:
    match op:
        case TensorOp():
            args = map_argument(op.args, lambda leaf: _replaced(leaf, final))
            kwargs = tuple((k, map_argument(a, lambda leaf: _replaced(leaf, final))) for k, a in op.kwargs)
            return replace(op, args=args, kwargs=kwargs)
        case HostOp() | Call():
            return replace(op, operands=_all_replaced(op.operands, final))


def substitute_terminator(node: Terminator, final: Substitution) -> Terminator:
    """``node`` with values replaced; a branch whose condition becomes a literal becomes a jump."""
    match node:
        case Jump():
            return replace(node, edge=_substitute_edge(node.edge, final))
        case Branch():
            condition = _replaced(node.condition, final)
            then, orelse = _substitute_edge(node.then, final), _substitute_edge(node.orelse, final)
            if isinstance(condition, Value):
                return replace(node, condition=condition, then=then, orelse=orelse)
            return Jump(then if condition else orelse, node.location)
        case Return():
            leaves = iter(_all_replaced(tuple(structure_leaves(node.result)), final))
            return replace(node, result=replace_leaves(node.result, leaves), **_substitute_changes(node, final))
        case Raise():
            return replace(node, arguments=_all_replaced(node.arguments, final), **_substitute_changes(node, final))


def _substitute_changes(node: Return | Raise, final: Substitution) -> dict[str, Argument]:
    mutated = tuple((index, _replaced(v, final)) for index, v in node.mutated)
    return {"state": _all_replaced(node.state, final), "mutated": mutated}


def _substitute_edge(edge: Edge, final: Substitution) -> Edge:
    return replace(edge, arguments=_all_replaced(edge.arguments, final))


def _all_replaced(operands: tuple[Operand, ...], final: Substitution) -> tuple[Operand, ...]:
    return tuple(_replaced(o, final) for o in operands)


def _replaced(leaf: Argument, final: Substitution) -> Argument:
    return final.get(leaf, leaf) if isinstance(leaf, Value) else leaf


def map_edges(node: Terminator, change: Callable[[Edge], Edge]) -> Terminator:
    """``node`` with its edges changed."""
    match node:
        case Jump():
            return replace(node, edge=change(node.edge))
        case Branch():
            return replace(node, then=change(node.then), orelse=change(node.orelse))
        case _:
            return node


def used_values(block: Block) -> Iterator[Value]:
    """Every value that the block reads, once per use."""
    for node in (*block.operations, block.terminator):
        yield from (x for x in operands_of(node) if isinstance(x, Value))


def identity_key(operand: Argument) -> object:
    """Equal for two operands exactly if they are the same; unlike ``==`` it tells 1, 1.0 and True apart."""
    if isinstance(operand, (Value, Constant)):
        return operand
    if isinstance(operand, (tuple, list)):
        return tuple(identity_key(o) for o in operand)
    return (operand.__class__, repr(operand))


def fresh_ids(function: Function) -> Iterator[int]:
    """Value numbers that the function does not use yet."""
    values = [v.id for b in function.blocks for v in b.parameters]
    values += [r.id for b in function.blocks for op in b.operations for r in op.results]
    following = max(values, default=-1) + 1
    while True:
        yield following
        following += 1
