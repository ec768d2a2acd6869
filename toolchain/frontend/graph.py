"""From explored nodes to functions of the IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolchain.frontend.constants import ConstantPool
from toolchain.frontend.explorer import STATE, Explorer
from toolchain.frontend.heap import World, is_atomic, join_name
from toolchain.frontend.nodes import Node
from toolchain.frontend.signals import builtin_name
from toolchain.ir import (
    Block,
    Branch,
    Edge,
    EntryPoint,
    Function,
    Jump,
    Leaf,
    ListType,
    Operand,
    Raise,
    Return,
    State,
    StateSlot,
    Terminator,
    Value,
    structure_leaves,
)
from toolchain.ir.builder import normalised

REPLACED = " (replaced)"
"""Ends the name of a slot that the module itself has lost: its name belongs to something else now."""


def state_order(explorer: Explorer) -> list[Node]:
    """The states between calls; the one after loading first."""
    states = [n for n in explorer.nodes if n.key == STATE and n.alive]
    states.sort(key=lambda n: not any(a.source is None for a in n.arrivals))
    return states


def build_functions(states: Sequence[Node], entries: Sequence[EntryPoint]) -> tuple[Function, ...]:
    functions = []
    for number, state in enumerate(states):
        assert state.exit is not None
        for entry_number, start in enumerate(state.exit.targets):
            entry = entries[entry_number]
            builder = _FunctionBuilder(states, state, entry)
            name = entry.name if len(states) == 1 else f"{entry.name}_state{number}"
            functions.append(normalised(Function(name, entry_number, number, builder.blocks(start))))
    return tuple(functions)


class _FunctionBuilder:
    def __init__(self, states: Sequence[Node], state: Node, entry: EntryPoint) -> None:
        self._states = list(states)
        self._state = state
        self._entry = entry
        self._numbers: dict[Node, int] = {}

    def blocks(self, start: Node) -> tuple[Block, ...]:
        order = _reverse_postorder(start)
        self._numbers = {node: n for n, node in enumerate(order)}
        return tuple(self._block(node, node is start) for node in order)

    def _block(self, node: Node, is_entry: bool) -> Block:
        parameters = tuple(p.value for p in node.parameters)
        if is_entry:
            inputs = tuple(v for v in structure_leaves(self._entry.signature) if isinstance(v, Value))
            parameters = (*(p.value for p in self._state.parameters), *inputs)
        return Block(
            id=self._numbers[node],
            parameters=parameters,
            operations=tuple(node.operations),
            terminator=self._terminator(node),
            is_loop_head=False,  # set by ``normalised``
            location=node.location,
        )

    def _edge(self, source: Node, slot: int, target: Node) -> Edge:
        return Edge(self._numbers[target], _arguments(source, slot, target))

    def _terminator(self, node: Node) -> Terminator:
        end = node.exit
        assert end is not None, "an unfinished block"
        if end.kind == "jump":
            return Jump(self._edge(node, 0, end.targets[0]), end.location)
        if end.kind == "branch":
            assert end.condition is not None
            then, orelse = (self._edge(node, slot, target) for slot, target in enumerate(end.targets))
            return Branch(
                end.condition.operand, then, orelse, "data" if end.condition.is_data else "size", end.location
            )
        assert end.outcome is not None
        target = end.targets[0]
        after: Any = (self._states.index(target), _arguments(node, 0, target), end.outcome.mutated, end.location)
        if end.kind == "return":
            return Return(end.outcome.result or Leaf(None), *after)
        assert end.exception is not None
        return Raise(builtin_name(type(end.exception)), end.outcome.arguments, *after)


def _arguments(source: Node, slot: int, target: Node) -> tuple[Operand, ...]:
    if target.key is None:
        return ()
    at = next(n for n, a in enumerate(target.arrivals) if a.source is source and a.slot == slot)
    return tuple(p.operands[at] for p in target.parameters)


def _targets(node: Node) -> list[Node]:
    return [t for t in node.exit.targets if t.key != STATE] if node.exit is not None else []


def _reverse_postorder(start: Node) -> list[Node]:
    order: list[Node] = []
    seen = {start}
    stack = [(start, iter(_targets(start)))]
    while stack:
        node, targets = stack[-1]
        target = next(targets, None)
        if target is None:
            order.append(node)
            stack.pop()
        elif target not in seen:
            seen.add(target)
            stack.append((target, iter(_targets(target))))
    return list(reversed(order))


def states_of(nodes: Sequence[Node], world: World, constants: ConstantPool) -> tuple[State, ...]:
    return tuple(State(_slots(node, world, constants), _literals(node, world)) for node in nodes)


def _slots(node: Node, world: World, constants: ConstantPool) -> tuple[StateSlot, ...]:
    names = [_parameter_name(p.path, world, constants) for p in node.parameters]
    attributes = {n for n, p in zip(names, node.parameters, strict=True) if p.path[0] != "storage"}
    lists = tuple(f"{n}[" for n, p in zip(names, node.parameters, strict=True) if isinstance(p.value.type, ListType))
    slots = []
    for name, parameter in zip(names, node.parameters, strict=True):
        # A buffer or list that was changed and then replaced: its name belongs to what replaced it.
        is_old = (parameter.path[0] == "storage" and name in attributes) or name.startswith(lists)
        slots.append(StateSlot(name + REPLACED if is_old else name, parameter.value.type))
    return tuple(slots)


def _parameter_name(path: tuple[Any, ...], world: World, constants: ConstantPool) -> str:
    if path[0] == "storage":
        return world.tensor_names.get(id(constants.tensor_behind(path[1])), "tensor").replace("\0", "")
    return _slot_name(path, world)


def _slot_name(path: tuple[Any, ...], world: World) -> str:
    name = str(path[1])
    for label in path[2:]:
        name = join_name(name, label, None)
    return name.replace("\0", "")


def _literals(node: Node, world: World) -> tuple[tuple[str, object], ...]:
    """Attributes whose constant value in this state is not the one after loading."""
    assert node.merged is not None
    out: list[tuple[str, object]] = []
    for value, (labels, refs) in node.merged.snapshot.images.values():
        if value not in world:
            continue
        before = dict(zip(*world.baseline(value), strict=True))
        for label, ref in zip(labels, refs, strict=True):
            plain = is_atomic(ref) and (ref is None or isinstance(ref, (bool, int, float, str)))
            if plain and not (label in before and repr(before[label]) == repr(ref)):
                out.append((join_name(world.names[id(value)], label, value).replace("\0", ""), ref))
    return tuple(out)
