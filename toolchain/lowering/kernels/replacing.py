"""Convolutions of one kind done in another way, channels last."""

from __future__ import annotations

from collections.abc import Callable

from toolchain.ir import Subgraph
from toolchain.lowering.kernels.convolution import Convolution, Operand, as_convolution
from toolchain.lowering.kernels.editor import Editor
from toolchain.lowering.kernels.tensors import channels_first


def replace_convolutions(
    subgraph: Subgraph,
    applies: Callable[[Convolution], bool],
    convolved: Callable[[Editor, Convolution], Operand],
) -> Subgraph:
    """``subgraph`` with ``convolved`` for each convolution with fixed weights to which it ``applies``."""
    editor = Editor(subgraph)
    for op in editor:
        found = as_convolution(op)
        if found is not None and applies(found) and editor.is_fixed(found.weight, found.bias):
            editor.replace(found.result, channels_first(editor, convolved(editor, found)))
        else:
            editor.keep(op)
    return editor.finish()
