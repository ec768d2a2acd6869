"""Operations and terminators: what a block consists of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolchain.ir.structure import Structure, structure_leaves
from toolchain.ir.values import (
    UNKNOWN_LOCATION,
    Argument,
    Constant,
    Location,
    Operand,
    Value,
    leaves,
)


@dataclass(frozen=True, slots=True)
class TensorOp:
    """One functional ATen operation (never in place, never a view that matters).

    target: ``"aten.add.Tensor"``. Arguments nest tuples of values, constants and literals, as the schema says; a scalar
    value (``ScalarType``) may stand wherever the schema has a number or a size.
    """

    target: str
    args: tuple[Argument, ...]
    kwargs: tuple[tuple[str, Argument], ...]
    results: tuple[Value, ...]
    location: Location = UNKNOWN_LOCATION


@dataclass(frozen=True, slots=True)
class HostOp:
    """One operation that the host program does itself; ``toolchain.ir.hostops`` lists the opcodes and their types.

    attributes: literals that belong to the opcode (the dimension of ``dim``, the texts of ``format``).
    """

    opcode: str
    operands: tuple[Operand, ...]
    results: tuple[Value, ...]
    attributes: tuple[object, ...] = ()
    location: Location = UNKNOWN_LOCATION


@dataclass(frozen=True, slots=True)
class Call:
    """Runs a static subgraph: ``results = subgraph(*operands)`` with ``weights`` bound at load.

    operands match ``Subgraph.parameters``; weights, names of program constants, match ``Subgraph.weights``.
    """

    subgraph: str
    operands: tuple[Operand, ...]
    weights: tuple[str, ...]
    results: tuple[Value, ...]
    location: Location = UNKNOWN_LOCATION


Operation: TypeAlias = TensorOp | HostOp | Call


@dataclass(frozen=True, slots=True)
class Edge:
    """A way into block ``target``; ``arguments`` match its parameters."""

    target: int
    arguments: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Jump:
    edge: Edge
    location: Location = UNKNOWN_LOCATION


@dataclass(frozen=True, slots=True)
class Branch:
    """Goes to ``then`` if ``condition`` (a bool scalar) holds, else to ``orelse``.

    kind: "data" if it depends on tensor elements; "size" if only on extents of tensors (such a decision cannot be
    forced).
    """

    condition: Value
    then: Edge
    orelse: Edge
    kind: Literal["data", "size"] = "data"
    location: Location = UNKNOWN_LOCATION


@dataclass(frozen=True, slots=True)
class Return:
    """Ends the call.

    result:     what the caller gets.
    next_state: index into ``Program.states`` of the state that the next call starts in, and its slots' values.
    mutated:    (index of the input leaf, new value) for every argument that eager changes in place.
    """

    result: Structure
    next_state: int = 0
    state: tuple[Operand, ...] = ()
    mutated: tuple[tuple[int, Operand], ...] = ()
    location: Location = UNKNOWN_LOCATION


@dataclass(frozen=True, slots=True)
class Raise:
    """Ends the call with an exception of the built-in type ``exception`` (the nearest built-in base of the user's).

    arguments: what the exception is made from; usually one string, literal or computed by ``format``.
    State and argument changes made before the raise stay, as in Python.
    """

    exception: str
    arguments: tuple[Operand, ...]
    next_state: int = 0
    state: tuple[Operand, ...] = ()
    mutated: tuple[tuple[int, Operand], ...] = ()
    location: Location = UNKNOWN_LOCATION


Terminator: TypeAlias = Jump | Branch | Return | Raise


def operands_of(node: Operation | Terminator) -> Iterator[Value | Constant]:
    """Every value and constant that ``node`` reads, in order (for a call: its weights are not included)."""
    match node:
        case TensorOp():  # alone in having nested arguments
            operands: Iterable[Argument] = leaves((node.args, [a for _, a in node.kwargs]))
        case HostOp() | Call():
            operands = node.operands
        case Jump():
            operands = node.edge.arguments
        case Branch():
            operands = (node.condition, *node.then.arguments, *node.orelse.arguments)
        case Return():
            operands = (*structure_leaves(node.result), *node.state, *(v for _, v in node.mutated))
        case Raise():
            operands = (*node.arguments, *node.state, *(v for _, v in node.mutated))
    return iter([x for x in operands if isinstance(x, (Value, Constant))])


def edges_of(terminator: Terminator) -> tuple[Edge, ...]:
    match terminator:
        case Jump():
            return (terminator.edge,)
        case Branch():
            return (terminator.then, terminator.orelse)
        case _:
            return ()
