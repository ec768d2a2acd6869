"""The executable specification of the IR: ``verify`` accepts exactly the well-formed programs."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator

from toolchain.diagnostics import ToolchainError
from toolchain.ir.effects import overload
from toolchain.ir.graph import Cfg
from toolchain.ir.ops import (
    Branch,
    Call,
    Edge,
    HostOp,
    Operation,
    Raise,
    Return,
    TensorOp,
    Terminator,
    edges_of,
    operands_of,
)
from toolchain.ir.printer import print_operation
from toolchain.ir.program import Block, Function, Program, Subgraph
from toolchain.ir.signatures import type_problem
from toolchain.ir.types import BOOL, FLOAT, INT, STR, ListType, ScalarType, TensorType, TupleType, Type
from toolchain.ir.values import Constant, Operand, Value

_LITERAL_TYPES: dict[type, ScalarType] = {bool: BOOL, int: INT, float: FLOAT, str: STR}


class InvalidProgram(ToolchainError):
    """The IR breaks its own rules: a defect of this toolchain, never of the user's model."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        text = "the intermediate program is malformed:\n  " + "\n  ".join(self.problems)
        super().__init__("TC510", text, "this is a defect of the toolchain; please report it with the model")


def verify(program: Program) -> None:
    """Raises ``InvalidProgram`` with every rule that ``program`` breaks."""
    problems = [*_program(program)]
    for subgraph in program.subgraphs.values():
        problems += (f"subgraph {subgraph.name}: {p}" for p in _subgraph(subgraph))
    for function in program.functions:
        problems += (f"function {function.name}: {p}" for p in _FunctionVerifier(program, function).problems())
    if problems:
        raise InvalidProgram(problems)


def _program(program: Program) -> Iterator[str]:
    if not program.states:
        yield "there is no state"
    elif len(program.initial_state) != len(program.states[0].slots):
        yield f"{len(program.initial_state)} initial values for {len(program.states[0].slots)} slots"
    else:
        for slot, value in zip(program.states[0].slots, program.initial_state, strict=True):
            if not fits(value, slot.type):
                yield f"the initial value of slot {slot.name} is no {slot.type}"
    for name, subgraph in program.subgraphs.items():
        if name != subgraph.name:
            yield f"subgraph {subgraph.name} is filed under {name}"
    keys = [(f.entry, f.state) for f in program.functions]
    if len(set(keys)) != len(keys):
        yield "two functions for one (entry, state)"


def _subgraph(subgraph: Subgraph) -> Iterator[str]:
    known = set(subgraph.parameters)
    if len(known) != len(subgraph.parameters):
        yield "a parameter appears twice"
    for op in subgraph.operations:
        yield from _known_target(op)
        for used in operands_of(op):
            if isinstance(used, Value) and used not in known:
                yield f"{used} is used before it is defined in: {print_operation(op)}"
            elif isinstance(used, Constant) and used not in subgraph.weights:
                yield f"{used} is no weight of the subgraph in: {print_operation(op)}"
        for result in op.results:
            if result in known:
                yield f"{result} is defined twice"
            known.add(result)
    for result in subgraph.results:
        if result not in known or result in subgraph.parameters:
            yield f"result {result} is not computed here"


def _known_target(op: TensorOp) -> Iterator[str]:
    try:
        overload(op.target)
    except (AttributeError, ValueError, AssertionError):
        yield f"unknown tensor operation {op.target}"


def fits(operand: Operand, type: Type) -> bool:
    """Whether ``operand`` may stand where ``type`` is declared: known extents may be forgotten, nothing else."""
    if isinstance(operand, (Value, Constant)):
        return type_fits(operand.type, type)
    return _LITERAL_TYPES.get(operand.__class__) == type


def type_fits(actual: Type, declared: Type) -> bool:
    match actual, declared:
        case TensorType(), TensorType():
            same = actual.dtype == declared.dtype and actual.rank == declared.rank
            return same and all(d in (None, a) for a, d in zip(actual.dims, declared.dims, strict=True))
        case ListType(element=None), ListType():
            return True
        case ListType(element=a), ListType(element=d):
            return a is not None and d is not None and type_fits(a, d)
        case TupleType(), TupleType() if len(actual.elements) == len(declared.elements):
            return all(map(type_fits, actual.elements, declared.elements))
        case _:
            return actual == declared


class _FunctionVerifier:
    def __init__(self, program: Program, function: Function) -> None:
        self._program, self._function = program, function
        self._ids = {b.id: b for b in function.blocks}

    def problems(self) -> Iterator[str]:
        shape = list(self._shape())
        yield from shape
        if shape:
            return  # dominators would make no sense
        cfg = Cfg(self._function)
        yield from self._order(cfg)
        yield from self._signature()
        yield from self._definitions(cfg)
        for block in self._function.blocks:
            for op in block.operations:
                yield from (f"^{block.id}: {p} in: {print_operation(op)}" for p in self._operation(op))
            ends = self._terminator(block.terminator)
            yield from (f"^{block.id}: {p} in: {print_operation(block.terminator)}" for p in ends)

    def _shape(self) -> Iterator[str]:
        if not self._function.blocks:
            yield "there are no blocks"
        if len(self._ids) != len(self._function.blocks):
            yield "two blocks have one id"
        for block in self._function.blocks:
            for edge in edges_of(block.terminator):
                if edge.target not in self._ids:
                    yield f"^{block.id} leads to ^{edge.target}, which does not exist"

    def _order(self, cfg: Cfg) -> Iterator[str]:
        for unreachable in self._ids.keys() - set(cfg.order):
            yield f"^{unreachable} is unreachable"
        for source, target in cfg.irreducible_edges:
            yield f"irreducible: ^{source} leads back to ^{target}, which does not dominate it"
        placed = {b.id: i for i, b in enumerate(self._function.blocks)}
        for source in cfg.order:
            for edge in edges_of(cfg.blocks[source].terminator):
                if placed[edge.target] <= placed[source] and not cfg.dominates(edge.target, source):
                    yield f"^{edge.target} stands before ^{source}: not in reverse postorder"
        for block in cfg.blocks.values():
            if block.is_loop_head != (block.id in cfg.loops):
                yield f"^{block.id} is {'not ' if block.is_loop_head else ''}a loop head, but marked otherwise"

    def _signature(self) -> Iterator[str]:
        if self._function.entry >= len(self._program.entries) or self._function.state >= len(self._program.states):
            yield "its entry or its state does not exist"
            return
        slots = [s.type for s in self._program.states[self._function.state].slots]
        expected = slots + [i.type for i in self._program.entries[self._function.entry].inputs]
        actual = [p.type for p in self._function.blocks[0].parameters]
        if len(actual) != len(expected) or not all(map(type_fits, expected, actual)):
            wanted = ", ".join(map(str, expected))
            yield f"the entry block takes ({', '.join(map(str, actual))}), but state and inputs are ({wanted})"

    def _definitions(self, cfg: Cfg) -> Iterator[str]:
        home: dict[Value, int] = {}
        for block in cfg.blocks.values():
            for value in (*block.parameters, *(r for op in block.operations for r in op.results)):
                if value in home:
                    yield f"{value} is defined twice"
                home[value] = block.id
        for block in cfg.blocks.values():
            seen = set(block.parameters)
            for node in (*block.operations, block.terminator):
                for used in operands_of(node):
                    if isinstance(used, Constant):
                        yield from self._constant(used)
                    elif not (used in seen or self._is_defined_above(used, block, home, cfg)):
                        yield f"^{block.id}: {used} is not defined on every way to: {print_operation(node)}"
                seen.update(() if not isinstance(node, (TensorOp, HostOp, Call)) else node.results)

    def _is_defined_above(self, used: Value, block: Block, home: dict[Value, int], cfg: Cfg) -> bool:
        return used in home and home[used] != block.id and cfg.dominates(home[used], block.id)

    def _constant(self, constant: Constant) -> Iterator[str]:
        if constant.name not in self._program.constants:
            yield f"constant {constant} does not exist"
        elif self._program.constant_type(constant.name) != constant.type:
            yield f"constant {constant} is {self._program.constant_type(constant.name)}, not {constant.type}"

    def _operation(self, op: Operation) -> Iterator[str]:
        match op:
            case TensorOp():
                yield from _known_target(op)
                if not all(isinstance(r.type, TensorType) for r in op.results):
                    yield "a result is no tensor"
            case HostOp():
                problem = type_problem(op)
                if problem:
                    yield problem
            case Call():
                yield from self._call(op)

    def _call(self, call: Call) -> Iterator[str]:
        subgraph = self._program.subgraphs.get(call.subgraph)
        if subgraph is None:
            yield f"subgraph {call.subgraph} does not exist"
            return
        sides = (len(call.operands), len(call.weights), len(call.results))
        if sides != (len(subgraph.parameters), len(subgraph.weights), len(subgraph.results)):
            yield "the subgraph has another number of parameters, weights or results"
            return
        for operand, parameter in zip(call.operands, subgraph.parameters, strict=True):
            if not fits(operand, parameter.type):
                yield f"operand {operand!s} is no {parameter.type}"
        for name, weight in zip(call.weights, subgraph.weights, strict=True):
            if name not in self._program.constants or self._program.constant_type(name) != weight.type:
                yield f"weight @{name} is no {weight.type}"
        for result, computed in zip(call.results, subgraph.results, strict=True):
            if not type_fits(computed.type, result.type):
                yield f"result {result} is declared {result.type}, but the subgraph computes {computed.type}"

    def _terminator(self, node: Terminator) -> Iterator[str]:
        match node:
            case Branch():
                if node.condition.type != BOOL:
                    yield f"the condition is {node.condition.type}, not bool"
            case Return():
                yield from self._ending(node)
            case Raise():
                found = getattr(builtins, node.exception, None)
                if not (isinstance(found, type) and issubclass(found, BaseException)):
                    yield f"{node.exception} is no built-in exception"
                yield from self._ending(node)
        for edge in edges_of(node):
            yield from self._edge(edge)

    def _edge(self, edge: Edge) -> Iterator[str]:
        parameters = self._ids[edge.target].parameters
        if len(parameters) != len(edge.arguments):
            yield f"{len(edge.arguments)} arguments for the {len(parameters)} parameters of ^{edge.target}"
            return
        for argument, parameter in zip(edge.arguments, parameters, strict=True):
            if not fits(argument, parameter.type):
                yield f"argument {argument!s} is no {parameter.type} (^{edge.target}, {parameter})"

    def _ending(self, node: Return | Raise) -> Iterator[str]:
        if node.next_state >= len(self._program.states):
            yield f"state {node.next_state} does not exist"
            return
        slots = self._program.states[node.next_state].slots
        if len(slots) != len(node.state):
            yield f"{len(node.state)} values for the {len(slots)} slots of state {node.next_state}"
        elif not all(fits(v, s.type) for v, s in zip(node.state, slots, strict=True)):
            yield f"a value does not fit its slot of state {node.next_state}"
        inputs = self._program.entries[self._function.entry].inputs
        for index, value in node.mutated:
            if index >= len(inputs) or not fits(value, inputs[index].type):
                yield f"input {index} cannot become {value!s}"
