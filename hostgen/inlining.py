"""Which host operations are printed where they are used, instead of on a line of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from toolchain.ir import Block, Branch, Function, HostOp, Operation, Terminator, Value, operands_of, values_in
from toolchain.ir.effects import has_effect, may_raise

# Longer expressions are harder to read than a name.
_MAX_OPERATIONS = 6


@dataclass(frozen=True, slots=True)
class Inlining:
    """made_by: value -> the operation to print in its place. The operation's operands may be inlined in turn."""

    made_by: Mapping[Value, HostOp]

    def is_inlined(self, op: Operation) -> bool:
        return bool(op.results) and op.results[0] in self.made_by

    def reads(self, node: Operation | Terminator) -> Iterator[Value]:
        """The variables that the printed form of ``node`` reads."""
        return self.expanded(values_in(tuple(operands_of(node))))

    def expanded(self, values: Iterator[Value]) -> Iterator[Value]:
        """``values`` with inlined ones replaced by the variables that they are made from."""
        for value in values:
            op = self.made_by.get(value)
            if op is None:
                yield value
            else:
                yield from self.expanded(values_in(op.operands))


def choose_inlining(function: Function, is_expression: Callable[[HostOp], bool] = lambda op: True) -> Inlining:
    """Inlines what is used once, in its own block, and cannot be seen to move.

    is_expression: whether the host language can print an operation inside of another.
    What may raise moves past nothing observable, never into one side of a branch, and never next to another such.
    """
    uses = Counter(v for b in function.blocks for n in (*b.operations, b.terminator) for v in values_in(_operands(n)))
    made_by: dict[Value, HostOp] = {}
    for block in function.blocks:
        made_by.update(_Chooser(block, uses, is_expression).choose())
    return Inlining(made_by)


def _operands(node: Operation | Terminator) -> tuple[object, ...]:
    return tuple(operands_of(node))


class _Chooser:
    def __init__(self, block: Block, uses: Counter[Value], is_expression: Callable[[HostOp], bool]) -> None:
        self._nodes = (*block.operations, block.terminator)
        self._uses = uses
        self._is_expression = is_expression
        self._chosen: dict[Value, HostOp] = {}
        self._raising: set[Value] = set()
        self._size: dict[Value, int] = {}

    def choose(self) -> dict[Value, HostOp]:
        reader = {v: i for i, node in enumerate(self._nodes) for v in values_in(_operands(node))}
        for index, node in enumerate(self._nodes):
            if isinstance(node, HostOp) and len(node.results) == 1 and self._is_expression(node):
                [value] = node.results
                if self._uses[value] == 1 and value in reader:
                    self._consider(node, value, index, reader[value])
        return self._chosen

    def _consider(self, op: HostOp, value: Value, index: int, reader: int) -> None:
        inlined = [v for v in values_in(op.operands) if v in self._chosen]
        size = 1 + sum(self._size[v] for v in inlined)
        raising = may_raise(op) or any(v in self._raising for v in inlined)
        if size > _MAX_OPERATIONS or (raising and not self._may_move(index, reader)):
            return
        self._chosen[value] = op
        self._size[value] = size
        if raising:
            self._raising.add(value)

    def _may_move(self, index: int, reader: int) -> bool:
        between = self._nodes[index + 1 : reader]
        user = self._nodes[reader]
        others = [v for v in values_in(_operands(user)) if v in self._raising]
        return not (isinstance(user, Branch) or others or any(map(self._is_observable, between)))

    def _is_observable(self, node: Operation | Terminator) -> bool:
        return isinstance(node, HostOp) and has_effect(node)
