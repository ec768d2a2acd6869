"""Programs as stable, MLIR-like text, for people, debug output and golden files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolchain.ir.ops import Branch, Call, Edge, HostOp, Jump, Operation, Raise, Return, TensorOp, Terminator
from toolchain.ir.program import Block, EntryPoint, Function, Program, State, Subgraph
from toolchain.ir.structure import Leaf, Mapping, Object, Structure
from toolchain.ir.structure import Sequence as SequenceNode
from toolchain.ir.values import UNKNOWN_LOCATION, Argument, Constant, Location, Operand, Value

_BRACKETS = {"tuple": ("(", ")"), "list": ("[", "]"), "set": ("{", "}"), "size": ("<", ">")}


def print_program(program: Program, locations: bool = False) -> str:
    """The whole program; with ``locations`` every operation ends in ``loc(file:line)``."""
    return "\n".join(_Printer(locations).program(program)) + "\n"


def print_function(function: Function, locations: bool = False) -> str:
    return "\n".join(_Printer(locations).function(function)) + "\n"


def print_operation(node: Operation | Terminator) -> str:
    """One operation or terminator on one line, without its location."""
    match node:
        case TensorOp():
            arguments = [_argument(a) for a in node.args] + [f"{k}={_argument(a)}" for k, a in node.kwargs]
            return f"{_results(node.results)}{node.target}({', '.join(arguments)})"
        case HostOp():
            attributes = f" [{_list(node.attributes)}]" if node.attributes else ""
            return f"{_results(node.results)}host.{node.opcode}({_list(node.operands)}){attributes}"
        case Call():
            weights = f" weights({', '.join('@' + w for w in node.weights)})" if node.weights else ""
            return f"{_results(node.results)}call {node.subgraph}({_list(node.operands)}){weights}"
        case _:
            return _terminator(node)


def _terminator(node: Terminator) -> str:
    match node:
        case Jump():
            return f"jump {_edge(node.edge)}"
        case Branch():
            kind = "" if node.kind == "data" else f" {node.kind}"
            return f"branch{kind} {node.condition}, {_edge(node.then)}, {_edge(node.orelse)}"
        case Return():
            return f"return {print_structure(node.result)}{_changes(node)}"
        case Raise():
            return f"raise {node.exception}({_list(node.arguments)}){_changes(node)}"


def print_structure(tree: Structure) -> str:
    match tree:
        case Leaf():
            return _argument(tree.operand)
        case SequenceNode():
            opening, closing = _BRACKETS[tree.kind]
            return opening + ", ".join(map(print_structure, tree.items)) + closing
        case Mapping():
            items = (f"{k!r}: {print_structure(i)}" for k, i in zip(tree.keys, tree.items, strict=True))
            return "{" + ", ".join(items) + "}"
        case Object():
            items = (f"{f}={print_structure(i)}" for f, i in zip(tree.fields, tree.items, strict=True))
            return f"{tree.kind} {tree.module}:{tree.qualname}({', '.join(items)})"


def _changes(node: Return | Raise) -> str:
    state = f" state {node.next_state}({_list(node.state)})" if node.state or node.next_state else ""
    mutated = ", ".join(f"{index}: {_argument(value)}" for index, value in node.mutated)
    return state + (f" mutated({mutated})" if mutated else "")


def _edge(edge: Edge) -> str:
    return f"^{edge.target}({_list(edge.arguments)})"


def _results(results: tuple[Value, ...]) -> str:
    return ", ".join(f"{r}: {r.type}" for r in results) + (" = " if results else "")


def _parameters(values: Iterable[Value]) -> str:
    return ", ".join(f"{v}{' ' + v.name if v.name else ''}: {v.type}" for v in values)


def _list(arguments: Iterable[object]) -> str:
    return ", ".join(map(_argument, arguments))


def _argument(arg: Argument | Operand) -> str:
    if isinstance(arg, (Value, Constant)):
        return str(arg)
    if isinstance(arg, (tuple, list)):
        return f"[{_list(arg)}]"
    return repr(arg)


class _Printer:
    def __init__(self, locations: bool) -> None:
        self._locations = locations

    def program(self, program: Program) -> Iterator[str]:
        yield f"program {program.name}"
        for entry in program.entries:
            yield from self._entry(entry)
        for index, state in enumerate(program.states):
            yield from self._state(index, state, program.initial_state if index == 0 else ())
        for name in program.constants:
            yield f"constant @{name}: {program.constant_type(name)}"
        for function in program.functions:
            yield ""
            yield from self.function(function)
        for subgraph in program.subgraphs.values():
            yield ""
            yield from self._subgraph(subgraph)

    def _entry(self, entry: EntryPoint) -> Iterator[str]:
        yield f"entry {entry.name} {print_structure(entry.signature)}"
        for leaf in entry.inputs:
            yield f"  input {leaf.name}: {leaf.type}"

    def _state(self, index: int, state: State, initial: tuple[Operand, ...]) -> Iterator[str]:
        if not (state.slots or state.literals):
            return
        yield f"state {index}"
        for position, slot in enumerate(state.slots):
            start = f" = {_argument(initial[position])}" if initial else ""
            yield f"  slot {slot.name}: {slot.type}{start}"
        for name, literal in state.literals:
            yield f"  literal {name} = {literal!r}"

    def function(self, function: Function) -> Iterator[str]:
        yield f"func {function.name} entry {function.entry} state {function.state} {{"
        for block in function.blocks:
            yield from self._block(block)
        yield "}"

    def _block(self, block: Block) -> Iterator[str]:
        head = " loop" if block.is_loop_head else ""
        yield f"^{block.id}({_parameters(block.parameters)}){head}:{self._location(block.location)}"
        for node in (*block.operations, block.terminator):
            yield f"  {print_operation(node)}{self._location(node.location)}"

    def _subgraph(self, subgraph: Subgraph) -> Iterator[str]:
        weights = ", ".join(f"{w}: {w.type}" for w in subgraph.weights)
        bound = f" weights({weights})" if weights else ""
        location = self._location(subgraph.location)
        yield f"subgraph {subgraph.name}({_parameters(subgraph.parameters)}){bound} {{{location}"
        for op in subgraph.operations:
            yield f"  {print_operation(op)}{self._location(op.location)}"
        yield f"  return {_list(subgraph.results)}"
        yield "}"

    def _location(self, location: Location) -> str:
        return f"  loc({location})" if self._locations and location != UNKNOWN_LOCATION else ""
