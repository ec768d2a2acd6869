"""Runs programs with PyTorch, before or after the partition pass: the reference for everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from toolchain.diagnostics import ToolchainError
from toolchain.ir.hostops import HOST_CALL
from toolchain.ir.ops import Branch, Call, Edge, HostOp, Jump, Operation, Raise, Return, TensorOp
from toolchain.ir.program import Block, Function, Program, Subgraph
from toolchain.ir.semantics import Datum, exception_of, run_host_call, run_host_op, run_tensor_op
from toolchain.ir.structure import Structure, replace_leaves, structure_leaves
from toolchain.ir.values import Argument, Constant, Value, map_argument

# (function, block id, what the condition says) -> which way to go
Decide: TypeAlias = Callable[[str, int, bool], bool]
Environment: TypeAlias = dict[Value, Datum]


class FuelExhausted(ToolchainError):
    """More blocks were entered than allowed; a forced loop may never end by itself."""

    def __init__(self, fuel: int) -> None:
        super().__init__("TC511", f"the program entered {fuel} blocks without ending", "raise the fuel limit")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call did.

    result:    the returned structure with tensors, scalars and lists as leaves; None if it raised.
    exception: what the program raised, or None.
    decisions: (function, block id, way taken) of every branch, in order.
    mutated:   (index of the input leaf, new value) of arguments changed in place.
    """

    result: Structure | None
    exception: BaseException | None
    decisions: tuple[tuple[str, int, bool], ...]
    mutated: tuple[tuple[int, Datum], ...] = ()


class _ProgramRaised(Exception):
    """An operation of the program raised ``__cause__``."""


class Interpreter:
    """A program with its state between calls. host_calls: functions by name; others are imported."""

    def __init__(self, program: Program, host_calls: Mapping[str, Callable[..., Any]] | None = None) -> None:
        self.program = program
        self._host_calls = host_calls or {}
        self.reset()

    def reset(self) -> None:
        """Back to the state after loading."""
        self.state_index = 0
        self.state = tuple(self._datum(v, {}) for v in self.program.initial_state)

    def call(
        self, entry_index: int, leaves: Sequence[Datum], decide: Decide | None = None, fuel: int = 100_000
    ) -> Outcome:
        """Runs one call.

        leaves: tensors and scalars for ``EntryPoint.inputs``. decide: replaces the program's own decisions.
        Raises ``FuelExhausted`` after ``fuel`` blocks; what a tensor operation raises passes through.
        """
        function = self._function(entry_index)
        decisions: list[tuple[str, int, bool]] = []
        environment = dict(zip(function.blocks[0].parameters, (*self.state, *leaves), strict=True))
        try:
            ending = self._run(function, environment, decide, decisions, fuel)
        except _ProgramRaised as raised:
            return Outcome(None, raised.__cause__, tuple(decisions))
        return self._finish(ending, environment, tuple(decisions))

    def _function(self, entry_index: int) -> Function:
        functions = self.program.functions
        return next(f for f in functions if (f.entry, f.state) == (entry_index, self.state_index))

    def _run(
        self,
        function: Function,
        environment: Environment,
        decide: Decide | None,
        decisions: list[tuple[str, int, bool]],
        fuel: int,
    ) -> Return | Raise:
        blocks = {b.id: b for b in function.blocks}
        block = function.blocks[0]
        for _ in range(fuel):
            self._run_operations(block, environment)
            match block.terminator:
                case Jump(edge=edge):
                    pass
                case Branch() as branch:
                    way = bool(environment[branch.condition])
                    way = decide(function.name, block.id, way) if decide else way
                    decisions.append((function.name, block.id, way))
                    edge = branch.then if way else branch.orelse
                case Return() | Raise() as ending:
                    return ending
            block = self._follow(edge, blocks, environment)
        raise FuelExhausted(fuel)

    def _follow(self, edge: Edge, blocks: dict[int, Block], environment: Environment) -> Block:
        target = blocks[edge.target]
        arguments = [self._datum(a, environment) for a in edge.arguments]
        environment.update(zip(target.parameters, arguments, strict=True))
        return target

    def _run_operations(self, block: Block, environment: Environment) -> None:
        for op in block.operations:
            environment.update(zip(op.results, self._run_operation(op, environment), strict=True))

    def _run_operation(self, op: Operation, environment: Environment) -> tuple[Datum, ...]:
        match op:
            case TensorOp():
                return _run_with(op, lambda leaf: self._datum(leaf, environment))
            case HostOp():
                operands = [self._datum(o, environment) for o in op.operands]
                try:
                    if op.opcode == HOST_CALL:
                        return run_host_call(op, operands, self._host_calls)
                    return run_host_op(op, operands)
                except Exception as error:
                    raise _ProgramRaised from error
            case Call():
                operands = [self._datum(o, environment) for o in op.operands]
                weights = [self.program.constants[name] for name in op.weights]
                return run_subgraph(self.program.subgraphs[op.subgraph], operands, weights)

    def _datum(self, operand: Argument, environment: Environment) -> Datum:
        match operand:
            case Value():
                return environment[operand]
            case Constant():
                return self.program.constants[operand.name]
            case _:
                return operand

    def _finish(
        self, ending: Return | Raise, environment: Environment, decisions: tuple[tuple[str, int, bool], ...]
    ) -> Outcome:
        self.state = tuple(self._datum(v, environment) for v in ending.state)
        self.state_index = ending.next_state
        mutated = tuple((index, self._datum(v, environment)) for index, v in ending.mutated)
        if isinstance(ending, Raise):
            arguments = [self._datum(a, environment) for a in ending.arguments]
            return Outcome(None, exception_of(ending.exception, arguments), decisions, mutated)
        data: Iterator[Any] = (self._datum(leaf, environment) for leaf in structure_leaves(ending.result))
        return Outcome(replace_leaves(ending.result, data), None, decisions, mutated)


def run_subgraph(subgraph: Subgraph, operands: Sequence[Datum], weights: Sequence[Datum]) -> tuple[Datum, ...]:
    """The results of ``subgraph``, one tensor each; operands match its parameters, weights its weights."""
    known: dict[Value | Constant, Datum] = dict(zip(subgraph.parameters, operands, strict=True))
    known.update(zip(subgraph.weights, weights, strict=True))
    for op in subgraph.operations:
        results = _run_with(op, lambda leaf: known[leaf] if isinstance(leaf, (Value, Constant)) else leaf)
        known.update(zip(op.results, results, strict=True))
    return tuple(known[r] for r in subgraph.results)


def _run_with(op: TensorOp, datum: Callable[[Any], Datum]) -> tuple[Datum, ...]:
    args = map_argument(op.args, datum)
    kwargs = {name: map_argument(a, datum) for name, a in op.kwargs}
    return run_tensor_op(op.target, args, kwargs)


def outcome_leaves(outcome: Outcome) -> tuple[Datum, ...]:
    """The leaves of the result, in order; empty if the call raised."""
    return tuple(structure_leaves(outcome.result)) if outcome.result else ()
