"""Moves permutations behind pointwise operations, where they meet and cancel.

Last: the other rewritings put one before and one behind everything that they lay out anew.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from toolchain.ir import Constant, Subgraph, TensorOp, Value, map_argument, operands_of
from toolchain.ir.effects import is_deterministic, overload
from toolchain.lowering.kernels.editor import Editor, is_static
from toolchain.lowering.kernels.tensors import extents, permuted

PERMUTE = "aten.permute.default"


def sink_permutes(subgraph: Subgraph) -> Subgraph:
    editor = Editor(subgraph)
    for op in editor:
        permutes = _permutes(editor, op)
        if op.target == PERMUTE and permutes:
            _merge(editor, op, *permutes)
        elif permutes and _sinks(op, permutes):
            _sink(editor, op, permutes[0].args[1])
        else:
            editor.keep(op)
    return editor.finish()


def _permutes(editor: Editor, op: TensorOp) -> list[TensorOp]:
    """The permutations that made what ``op`` takes; none if something else, or of unknown extents, is among that."""
    tensors = [x for x in operands_of(op) if isinstance(x, (Value, Constant))]
    found = [editor.makers[x] for x in tensors if isinstance(x, Value) and x in editor.makers]
    permutes = [maker for maker in found if maker.target == PERMUTE and is_static(maker.args[0])]
    return permutes if len(permutes) == len(tensors) else []


def _merge(editor: Editor, op: TensorOp, before: TensorOp) -> None:
    """A permutation of a permutation is one, or none."""
    (inner, first), (_, second) = before.args, op.args
    together = tuple(first[d] for d in second)
    [result] = op.results
    is_none = together == tuple(range(len(together)))
    editor.replace(result, inner if is_none else permuted(editor, inner, together))


def _sinks(op: TensorOp, permutes: Sequence[TensorOp]) -> bool:
    """Whether ``op`` may come before the permutations: they are one and the same, and nothing is broadcast."""
    alike = {(tuple(p.args[1]), p.results[0].type) for p in permutes}
    pointwise = torch.Tag.pointwise in overload(op.target).tags and is_deterministic(op)
    return pointwise and len(alike) == len(op.results) == 1


def _sink(editor: Editor, op: TensorOp, order: Sequence[int]) -> None:
    def unpermuted(leaf: object) -> object:
        return editor.makers[leaf].args[0] if isinstance(leaf, Value) else leaf

    [result] = op.results
    inside = tuple(extents(result)[order.index(d)] for d in range(len(order)))
    inner = editor.emit_like(op, map_argument(op.args, unpermuted), map_argument(dict(op.kwargs), unpermuted), inside)
    editor.replace(result, permuted(editor, inner, tuple(order)))
