"""What the manifest says about a program: signatures, states, modules, instances, control-flow graphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Literal, cast

from runtime_py import format as fmt
from runtime_py.constants import to_constant
from toolchain.ir import (
    Block,
    Branch,
    Call,
    Constant,
    EntryPoint,
    Function,
    InputLeaf,
    Jump,
    Leaf,
    ListType,
    Location,
    Mapping,
    Object,
    Operand,
    Program,
    Raise,
    Return,
    ScalarType,
    Sequence,
    State,
    Structure,
    Subgraph,
    TensorType,
    Terminator,
    TupleType,
    Type,
    UserFunction,
    Value,
    edges_of,
    instances,
    user_functions,
)

_ScalarName = Literal["int", "float", "bool", "str"]


def describe_entry(entry: EntryPoint) -> fmt.Entry:
    return fmt.Entry(entry.name, tree_of(entry.signature), tuple(map(_input, entry.inputs)))


def tree_of(structure: Structure) -> fmt.Tree:
    """``structure`` with a "leaf" in the place of every value, and literals as they are."""
    match structure:
        case Leaf(Value()):
            return fmt.Tree("leaf")
        case Leaf(literal):
            return fmt.Tree("literal", literal=to_constant(literal))
        case Sequence():
            return fmt.Tree(structure.kind, tuple(map(tree_of, structure.items)))
        case Mapping():
            return fmt.Tree("dict", tuple(map(tree_of, structure.items)), tuple(map(to_constant, structure.keys)))
        case Object():
            items = tuple(map(tree_of, structure.items))
            cls = f"{structure.module}:{structure.qualname}"
            return fmt.Tree(structure.kind, items, cls=cls, fields=structure.fields)


def _input(leaf: InputLeaf) -> fmt.Input:
    if isinstance(leaf.type, TensorType):
        dims = tuple(fmt.Dim(d.size, d.minimum, d.maximum) for d in leaf.dims or ())
        return fmt.Input(leaf.name, "tensor", leaf.type.dtype, dims)
    return fmt.Input(leaf.name, cast(_ScalarName, str(leaf.type)))


def describe_type(kind: Type) -> fmt.ValueType:
    match kind:
        case TensorType():
            return fmt.ValueType("tensor", kind.dtype, kind.dims)
        case ScalarType():
            return fmt.ValueType(cast(_ScalarName, kind.kind))  # other objects never stay between calls
        case TupleType():
            return fmt.ValueType("tuple", elements=tuple(map(describe_type, kind.elements)))
        case ListType():
            return fmt.ValueType("list", elements=() if kind.element is None else (describe_type(kind.element),))


def describe_state(state: State) -> fmt.State:
    slots = tuple(fmt.Slot(s.name, describe_type(s.type)) for s in state.slots)
    return fmt.State(slots, tuple(fmt.Attribute(name, to_constant(value)) for name, value in state.literals))


def describe_initial(value: Operand) -> fmt.InitialValue:
    if isinstance(value, Constant):
        return fmt.InitialValue(weight=value.name)
    return fmt.InitialValue(literal=to_constant(value))


def describe_host_calls(program: Program) -> tuple[fmt.HostCall, ...]:
    return tuple(map(_host_call, user_functions(program)))


def _host_call(function: UserFunction) -> fmt.HostCall:
    parameters = tuple(fmt.ValueType("none") if p is None else describe_type(p) for p in function.parameters)
    results = tuple(map(describe_type, function.results))
    return fmt.HostCall(function.name, function.form, parameters, function.keywords, results)


def describe_instances(program: Program) -> tuple[fmt.Instance, ...]:
    return tuple(fmt.Instance(subgraph, weights) for subgraph, weights in instances(program))


def describe_places(subgraph: Subgraph) -> tuple[fmt.Place, ...]:
    """The source lines that a subgraph computes, each once."""
    return tuple(dict.fromkeys(_place(op.location) for op in subgraph.operations))


def _place(location: Location) -> fmt.Place:
    return fmt.Place(PurePath(location.file).name, location.line, location.function)


def describe_functions(program: Program) -> tuple[fmt.FunctionSummary, ...]:
    numbers = {instance: i for i, instance in enumerate(instances(program))}
    return tuple(_function(function, numbers) for function in program.functions)


def _function(function: Function, numbers: dict[tuple[str, tuple[str, ...]], int]) -> fmt.FunctionSummary:
    blocks = tuple(_block(block, numbers) for block in function.blocks)
    return fmt.FunctionSummary(function.name, function.entry, function.state, blocks)


def _block(block: Block, numbers: dict[tuple[str, tuple[str, ...]], int]) -> fmt.BlockSummary:
    terminator = block.terminator
    return fmt.BlockSummary(
        id=block.id,
        place=_place(terminator.location if isinstance(terminator, Branch) else block.location),
        is_loop_head=block.is_loop_head,
        terminator=_terminator(terminator),
        kind=terminator.kind if isinstance(terminator, Branch) else "",
        edges=tuple(edge.target for edge in edges_of(terminator)),
        calls=tuple(numbers[(call.subgraph, call.weights)] for call in _calls(block)),
    )


def _calls(block: Block) -> Iterator[Call]:
    return (op for op in block.operations if isinstance(op, Call))


def _terminator(terminator: Terminator) -> Literal["jump", "branch", "return", "raise"]:
    match terminator:
        case Jump():
            return "jump"
        case Branch():
            return "branch"
        case Return():
            return "return"
        case Raise():
            return "raise"
