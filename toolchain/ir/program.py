"""Programs, functions, blocks and subgraphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolchain.ir.ops import Call, Operation, TensorOp, Terminator
from toolchain.ir.structure import Structure
from toolchain.ir.types import TensorType, Type
from toolchain.ir.values import UNKNOWN_LOCATION, Constant, Location, Value

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block: straight-line operations and one terminator.

    parameters: the block arguments. Values of dominating blocks may be used directly.
    is_loop_head: some edge into the block comes from a block that it dominates (the graph is reducible).
    """

    id: int
    parameters: tuple[Value, ...]
    operations: tuple[Operation, ...]
    terminator: Terminator
    is_loop_head: bool = False
    location: Location = UNKNOWN_LOCATION


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A branch-free piece of tensor code, compiled as one unit.

    parameters: run-time inputs: tensors, and scalars (int or float) used as sizes, indices or numbers.
    weights:    placeholders for constants; ``Call.weights`` binds them, so one subgraph can serve several weight sets.
    results:    tensors (parameters and weights excluded).
    """

    name: str
    parameters: tuple[Value, ...]
    weights: tuple[Constant, ...]
    operations: tuple[TensorOp, ...]
    results: tuple[Value, ...]
    location: Location = UNKNOWN_LOCATION


@dataclass(frozen=True, slots=True)
class Function:
    """The control-flow graph of one entry in one state.

    The entry block's parameters are the state's slots (in order), then the input leaves that are tensors or host
    scalars.
    blocks: in reverse postorder; ``blocks[0]`` is the entry.
    """

    name: str
    entry: int
    state: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class InputDim:
    """Extent of one dimension of an input: fixed when ``size`` is set; otherwise equal for all dims with the same
    ``name`` only by chance: every dim is checked on its own against ``minimum`` and ``maximum``."""

    size: int | None
    minimum: int = 0
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class InputLeaf:
    """One leaf of an entry's arguments: a tensor (``dims`` set) or a Python scalar marked ``toolchain.Dynamic``."""

    name: str
    type: Type
    dims: tuple[InputDim, ...] | None


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """One shape of call that the program accepts.

    signature: the arguments as a pytree whose root is a tuple (args tuple, kwargs dict); leaves are ``Value`` for
               inputs (in the order of ``inputs``) and literals for constants.
    """

    name: str
    signature: Structure
    inputs: tuple[InputLeaf, ...]


@dataclass(frozen=True, slots=True)
class StateSlot:
    """What calls leave behind: a buffer or attribute, named by its path from the module (``"layer.cache"``)."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class State:
    """An abstract state between calls.

    slots:    what varies; the host carries one value for each.
    literals: (name, literal) of attributes that have one fixed Python value in this state but differ between states.
    """

    slots: tuple[StateSlot, ...] = ()
    literals: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """Everything that the front end knows about a module.

    states[0] is the state after loading; ``initial_state`` gives its slots' first values (names of constants, or
    literals).
    functions: one per (entry, state).
    subgraphs: empty until the partition pass has run.
    """

    name: str
    entries: tuple[EntryPoint, ...]
    states: tuple[State, ...]
    initial_state: tuple[Constant | int | float | bool | str | None, ...]
    functions: tuple[Function, ...]
    constants: Mapping[str, torch.Tensor]
    subgraphs: Mapping[str, Subgraph] = field(default_factory=dict)

    def constant_type(self, name: str) -> TensorType:
        tensor = self.constants[name]
        return TensorType(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))


def instances(program: Program) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Every distinct (subgraph, weights) pair that the program calls, in order of first appearance.

    The position in this tuple is the number under which generated hosts call the instance.
    """
    seen: dict[tuple[str, tuple[str, ...]], None] = {}
    for function in program.functions:
        for block in function.blocks:
            for op in block.operations:
                if isinstance(op, Call):
                    seen[(op.subgraph, op.weights)] = None
    return tuple(seen)
