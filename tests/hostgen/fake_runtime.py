"""Runs a generated Python host on PyTorch tensors: what ``runtime_py`` offers, without devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import hostgen
from hostgen.names import host_function
from toolchain.ir import OPCODES, Program, Structure, instances
from toolchain.ir.interpreter import Decide, Outcome, run_subgraph
from toolchain.ir.semantics import TABLE, Datum


class OutOfFuel(Exception):
    pass


class FakeHost:
    """A program's generated module with state between calls; records decisions as the interpreter does."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.constants = program.constants
        self.calls = [self._callable(*instance) for instance in instances(program)]
        self.text = hostgen.generate(program, "python")["program.py"]
        namespace: dict[str, Any] = {}
        exec(compile(self.text, "program.py", "exec"), namespace)
        namespace["ops"] = SimpleNamespace(**{host_function(o): _operation(o) for o in OPCODES})
        self._functions: dict[tuple[int, int], Callable[..., Any]] = namespace["FUNCTIONS"]
        self.state_index = 0
        self.state: tuple[Datum, ...] = tuple(getattr(v, "name", v) for v in program.initial_state)
        self.state = tuple(self.constants[v] if isinstance(v, str) else v for v in self.state)

    def _callable(self, name: str, weights: tuple[str, ...]) -> Callable[..., Datum]:
        subgraph = self.program.subgraphs[name]

        def call(*operands: Datum) -> Datum:
            results = run_subgraph(subgraph, operands, [self.constants[w] for w in weights])
            return results[0] if len(results) == 1 else results

        return call

    def call(self, leaves: Sequence[Datum], decide: Decide | None, fuel: int = 3000) -> Outcome:
        """One call. Raises ``OutOfFuel`` after ``fuel`` decisions."""
        self._decide, self._fuel = decide, fuel
        self._decisions: list[tuple[str, int, bool]] = []
        self._mutated: tuple[tuple[int, Datum], ...] = ()
        self._name = next(f.name for f in self.program.functions if f.state == self.state_index)
        function = self._functions[(0, self.state_index)]
        try:
            result = function(self, *self.state, *leaves)
        except OutOfFuel:
            raise
        except Exception as error:
            return Outcome(None, error, tuple(self._decisions), self._mutated)
        return Outcome(result, None, tuple(self._decisions), self._mutated)

    def decide(self, block: int, condition: bool) -> bool:
        assert type(condition) is bool
        if self._fuel == 0:
            raise OutOfFuel
        self._fuel -= 1
        way = self._decide(self._name, block, condition) if self._decide else condition
        self._decisions.append((self._name, block, way))
        return way

    def commit(self, state: int, values: tuple[Datum, ...], mutated: tuple[tuple[int, Datum], ...]) -> None:
        self.state_index, self.state, self._mutated = state, values, mutated

    def make(self, kind: str, module: str, qualname: str, fields: dict[str, Datum]) -> Datum:
        return (kind, module, qualname, fields)


def _operation(opcode: str) -> Callable[..., Datum]:
    def operation(*operands: Datum, **attributes: Datum) -> Datum:
        if opcode == "list":
            return TABLE[opcode](*operands, attributes.get("arity", 0))
        return TABLE[opcode](*operands, *attributes.values())

    return operation


def plain(tree: Structure) -> Datum:
    """What a host returns for an interpreter's result."""
    from toolchain.ir import Leaf, Mapping, Object
    from toolchain.ir import Sequence as SequenceNode

    match tree:
        case Leaf():
            return tree.operand
        case SequenceNode():
            kinds: dict[str, Callable[..., Datum]] = {"tuple": tuple, "list": list, "set": set, "size": tuple}
            return kinds[tree.kind](map(plain, tree.items))
        case Mapping():
            return dict(zip(tree.keys, map(plain, tree.items), strict=True))
        case Object():
            fields = dict(zip(tree.fields, map(plain, tree.items), strict=True))
            return (tree.kind, tree.module, tree.qualname, fields)
