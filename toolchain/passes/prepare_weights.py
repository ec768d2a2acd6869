"""Evaluates at build time what a subgraph computes from weights alone. Not in place.

Last, after the rewritings that put such operations there: a folded batch norm, a weight in another layout. Every set of
weights that a subgraph is called with gets its prepared weights; equal ones are made once.

Views stay in the subgraph: they cost nothing there, but stored they would take the room of a weight once more. So do
operations that make a weight larger; the compiler does these when a module is loaded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import torch

from toolchain.ir import (
    Block,
    Call,
    Constant,
    Operation,
    Program,
    Subgraph,
    TensorOp,
    TensorType,
    Type,
    Value,
    map_argument,
    operands_of,
)
from toolchain.ir.effects import is_deterministic, is_view
from toolchain.ir.interpreter import run_subgraph
from toolchain.lowering.canonical import canonical_text

# Marks a weight in another layout that is worth storing.
COPY = "aten.clone.default"


@dataclass(frozen=True, slots=True)
class _Weight:
    """How a weight is made: by a subgraph without parameters, from the weights at ``sources`` of the old subgraph.

    A weight that stays as it is has no recipe, and is its only source.
    """

    recipe: Subgraph | None
    sources: tuple[int, ...]


def prepare_weights(program: Program) -> Program:
    prepared = {name: _prepare(subgraph) for name, subgraph in program.subgraphs.items()}
    constants = dict(program.constants)

    def change(op: Operation) -> Operation:
        if not isinstance(op, Call):
            return op
        _, weights = prepared[op.subgraph]
        return replace(op, weights=tuple(_bind(weight, op.weights, constants) for weight in weights))

    def changed(block: Block) -> Block:
        return replace(block, operations=tuple(map(change, block.operations)))

    functions = tuple(replace(f, blocks=tuple(map(changed, f.blocks))) for f in program.functions)
    subgraphs = {name: subgraph for name, (subgraph, _) in prepared.items()}
    return replace(program, functions=functions, subgraphs=subgraphs, constants=constants)


def _bind(weight: _Weight, bound: Sequence[str], constants: dict[str, torch.Tensor]) -> str:
    """The name of the constant that ``weight`` is where the old subgraph's weights are ``bound``."""
    sources = [bound[i] for i in weight.sources]
    if weight.recipe is None:
        return sources[0]
    # The same expression over the same weights has the same name, whichever subgraph needs it.
    text = "\n".join([canonical_text(weight.recipe), *sources])
    name = f"{sources[0]}.prepared.{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    if name not in constants:
        [made] = run_subgraph(weight.recipe, (), [constants[source] for source in sources])
        constants[name] = made.detach().contiguous()
    return name


def _prepare(subgraph: Subgraph) -> tuple[Subgraph, tuple[_Weight, ...]]:
    """What is left to do at run time, and how each of its weights is made."""
    late, recipes = _split(subgraph)
    position = {weight: i for i, weight in enumerate(subgraph.weights)}
    made = {weight: _Weight(None, (i,)) for weight, i in position.items()}
    names: dict[Value, Constant] = {}
    for value, recipe in recipes.items():
        names[value] = Constant(f"prepared{len(names)}", _tensor_type(value.type))
        made[names[value]] = _Weight(recipe, tuple(position[w] for w in recipe.weights))
    operations = tuple(_renamed(op, names) for op in late)
    weights = tuple(dict.fromkeys(x for op in operations for x in operands_of(op) if isinstance(x, Constant)))
    return replace(subgraph, weights=weights, operations=operations), tuple(made[weight] for weight in weights)


def _renamed(op: TensorOp, names: dict[Value, Constant]) -> TensorOp:
    args, kwargs = map_argument((op.args, dict(op.kwargs)), lambda leaf: _named(leaf, names))
    return replace(op, args=args, kwargs=tuple(kwargs.items()))


def _named(leaf: object, names: dict[Value, Constant]) -> object:
    return names.get(leaf, leaf) if isinstance(leaf, Value) else leaf


def _split(subgraph: Subgraph) -> tuple[Sequence[TensorOp], dict[Value, Subgraph]]:
    """The operations that stay, and for each value that they take from the others a subgraph which makes it."""
    fixed = _weight_only(subgraph)
    # What run-time operations need, and what operations on weights need that stay because their results are too large.
    needed, inside = set(subgraph.results), set[Value]()
    late: list[TensorOp] = []
    recipes: dict[Value, Subgraph] = {}
    for op in reversed(subgraph.operations):
        asked = not needed.isdisjoint(op.results)
        if not asked and inside.isdisjoint(op.results):
            continue
        if fixed.issuperset(op.results) and not is_view(op):
            # Of what makes a large weight, parts would take as much room: only marked copies are stored.
            made = {r: _recipe(r, subgraph) for r in op.results} if asked or op.target == COPY else {}
            if made and all(map(_pays, made.values())):
                recipes.update(made)
                continue
            asked = False
        late.append(op)
        (needed if asked else inside).update(x for x in operands_of(op) if isinstance(x, Value))
    return late[::-1], recipes


def _weight_only(subgraph: Subgraph) -> set[Value]:
    """Values that no parameter goes into, but for results: those are made at run time."""
    fixed: set[Value] = set()
    for op in subgraph.operations:
        if is_deterministic(op) and all(x in fixed for x in operands_of(op) if isinstance(x, Value)):
            fixed.update(op.results)
    return fixed.difference(subgraph.results)


def _recipe(value: Value, subgraph: Subgraph) -> Subgraph:
    needed, operations = {value}, []
    for op in reversed(subgraph.operations):
        if not needed.isdisjoint(op.results):
            operations.append(op)
            needed.update(x for x in operands_of(op) if isinstance(x, Value))
    weights = tuple(dict.fromkeys(x for op in operations for x in operands_of(op) if isinstance(x, Constant)))
    return replace(subgraph, parameters=(), weights=weights, operations=tuple(operations[::-1]), results=(value,))


def _pays(recipe: Subgraph) -> bool:
    """Whether the result takes no more room than the weights that it is made of, at least one."""
    return recipe.weights != () and _bytes(recipe.results[0].type) <= sum(_bytes(w.type) for w in recipe.weights)


def _bytes(kind: Type) -> float:
    kind = _tensor_type(kind)
    if not kind.is_static:
        return float("inf")
    itemsize: int = getattr(torch, kind.dtype).itemsize
    return prod(d for d in kind.dims if d is not None) * itemsize


def _tensor_type(kind: Type) -> TensorType:
    assert isinstance(kind, TensorType)
    return kind
