"""Writes functions by hand: fresh values, blocks in any order, then ``build`` puts them in reverse postorder.

f = FunctionBuilder("forward")
entry = f.block(TensorType("float32", (3,)))
doubled = entry.tensor("aten.mul.Tensor", entry.parameters[0], 2)
entry.return_(Leaf(doubled))
function = f.build()
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Literal

from toolchain.ir.graph import Cfg, reverse_postorder
from toolchain.ir.ops import Branch, Edge, HostOp, Jump, Operation, Raise, Return, TensorOp, Terminator
from toolchain.ir.program import Block, Function
from toolchain.ir.structure import Structure
from toolchain.ir.types import TensorType, Type
from toolchain.ir.values import UNKNOWN_LOCATION, Argument, Constant, Location, Operand, Value, leaves


class BlockBuilder:
    """A block under construction. ``location`` goes into every node that is added after it was set."""

    def __init__(self, function: FunctionBuilder, id: int, parameters: tuple[Value, ...]) -> None:
        self.id = id
        self.parameters = parameters
        self.location = UNKNOWN_LOCATION
        self._function = function
        self._operations: list[Operation] = []
        self._terminator: Terminator | None = None

    def tensor(self, target: str, *args: Argument, type: Type | None = None, **kwargs: Argument) -> Value:
        """Adds a tensor operation with one result; its type is that of the first tensor operand unless given."""
        result = self._function.value(type or _first_tensor_type((args, tuple(kwargs.values()))))
        self._operations.append(TensorOp(target, args, tuple(kwargs.items()), (result,), self.location))
        return result

    def tensors(self, target: str, *args: Argument, types: tuple[Type, ...]) -> tuple[Value, ...]:
        """Adds a tensor operation with several results."""
        results = tuple(self._function.value(t) for t in types)
        self._operations.append(TensorOp(target, args, (), results, self.location))
        return results

    def host(self, opcode: str, *operands: Operand, type: Type, attributes: tuple[object, ...] = ()) -> Value:
        """Adds a host operation with one result."""
        result = self._function.value(type)
        self._operations.append(HostOp(opcode, operands, (result,), attributes, self.location))
        return result

    def hosts(self, opcode: str, *operands: Operand, types: tuple[Type, ...]) -> tuple[Value, ...]:
        """Adds a host operation with several results (``list_get`` of a tuple element)."""
        results = tuple(self._function.value(t) for t in types)
        self._operations.append(HostOp(opcode, operands, results, (), self.location))
        return results

    def effect(self, opcode: str, *operands: Operand, attributes: tuple[object, ...] = ()) -> None:
        """Adds a host operation without result: a check, print or warning."""
        self._operations.append(HostOp(opcode, operands, (), attributes, self.location))

    def jump(self, target: BlockBuilder, *arguments: Operand) -> None:
        self._end(Jump(Edge(target.id, arguments), self.location))

    def branch(
        self,
        condition: Value,
        then: tuple[BlockBuilder, *tuple[Operand, ...]],
        orelse: tuple[BlockBuilder, *tuple[Operand, ...]],
        kind: Literal["data", "size"] = "data",
    ) -> None:
        """Ends the block with a decision; each side is a target followed by its arguments."""
        edges = [Edge(side[0].id, side[1:]) for side in (then, orelse)]
        self._end(Branch(condition, edges[0], edges[1], kind, self.location))

    def return_(
        self,
        result: Structure,
        state: tuple[Operand, ...] = (),
        next_state: int = 0,
        mutated: tuple[tuple[int, Operand], ...] = (),
    ) -> None:
        self._end(Return(result, next_state, state, mutated, self.location))

    def raise_(self, exception: str, *arguments: Operand, state: tuple[Operand, ...] = (), next_state: int = 0) -> None:
        self._end(Raise(exception, arguments, next_state, state, (), self.location))

    def _end(self, terminator: Terminator) -> None:
        assert self._terminator is None, f"block {self.id} has ended already"
        self._terminator = terminator

    def build(self) -> Block:
        assert self._terminator is not None, f"block {self.id} has no terminator"
        return Block(self.id, self.parameters, tuple(self._operations), self._terminator, False, self.location)


class FunctionBuilder:
    """A function under construction. The block made first is the entry."""

    def __init__(self, name: str, entry: int = 0, state: int = 0) -> None:
        self._name, self._entry, self._state = name, entry, state
        self._values = count()
        self._blocks: list[BlockBuilder] = []

    def value(self, type: Type, name: str = "") -> Value:
        return Value(next(self._values), type, name)

    def block(self, *parameters: Type | tuple[str, Type]) -> BlockBuilder:
        """A new block; each parameter is a type, or a name and a type."""
        named = [p if isinstance(p, tuple) else ("", p) for p in parameters]
        block = BlockBuilder(self, len(self._blocks), tuple(self.value(t, n) for n, t in named))
        self._blocks.append(block)
        return block

    def build(self) -> Function:
        """The function in reverse postorder with its loop heads marked; unreachable blocks are left out."""
        return normalised(Function(self._name, self._entry, self._state, tuple(b.build() for b in self._blocks)))


def normalised(function: Function) -> Function:
    """``function`` with its reachable blocks in reverse postorder and ``is_loop_head`` set right."""
    by_id = {b.id: b for b in function.blocks}
    order = reverse_postorder(function.blocks)
    ordered = replace(function, blocks=tuple(by_id[block] for block in order))
    heads = Cfg(ordered).loops
    return replace(ordered, blocks=tuple(_marked(b, b.id in heads) for b in ordered.blocks))


def _marked(block: Block, is_head: bool) -> Block:
    return block if block.is_loop_head == is_head else replace(block, is_loop_head=is_head)


def _first_tensor_type(arguments: Argument) -> TensorType:
    types = (x.type for x in leaves(arguments) if isinstance(x, (Value, Constant)))
    return next(t for t in types if isinstance(t, TensorType))


__all__ = ["BlockBuilder", "FunctionBuilder", "Location", "normalised"]
