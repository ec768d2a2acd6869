"""Depthwise convolution as a sum of shifted products, channels last.

The compiler's loop over a depthwise convolution is not vectorised; products along the channels are.
"""

from __future__ import annotations

from toolchain.ir import Subgraph
from toolchain.lowering.kernels.convolution import Convolution, Operand, as_convolution
from toolchain.lowering.kernels.editor import Editor
from toolchain.lowering.kernels.tensors import channels_first, copied, permuted, picked, pointwise, taps, with_bias


def shift_depthwise(subgraph: Subgraph) -> Subgraph:
    editor = Editor(subgraph)
    for op in editor:
        found = as_convolution(op)
        if found is not None and _applies(editor, found):
            editor.replace(found.result, channels_first(editor, _shifted(editor, found)))
        else:
            editor.keep(op)
    return editor.finish()


def _applies(editor: Editor, found: Convolution) -> bool:
    inside, outside = found.channels
    return inside == outside == found.groups > 1 and editor.is_fixed(found.weight, found.bias)


def _shifted(editor: Editor, found: Convolution) -> Operand:
    # Kernel height x kernel width x C.
    weight = copied(editor, permuted(editor, picked(editor, found.weight, 0, 1), (1, 2, 0)))
    products = [
        pointwise(editor, "aten.mul.Tensor", seen, picked(editor, picked(editor, weight, row), column))
        for row, column, seen in taps(editor, found)
    ]
    total = products[0]
    for product in products[1:]:
        total = pointwise(editor, "aten.add.Tensor", total, product)
    return with_bias(editor, total, found)
