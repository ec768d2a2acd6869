"""Depthwise convolution as a sum of shifted products, channels last.

The compiler's loop over a depthwise convolution is not vectorised; products along the channels are.
"""

from __future__ import annotations

from toolchain.ir import Subgraph
from toolchain.lowering.kernels.convolution import Convolution, Operand
from toolchain.lowering.kernels.editor import Editor
from toolchain.lowering.kernels.replacing import replace_convolutions
from toolchain.lowering.kernels.tensors import copied, permuted, picked, pointwise, taps, with_bias


def shift_depthwise(subgraph: Subgraph) -> Subgraph:
    return replace_convolutions(subgraph, _applies, _shifted)


def _applies(found: Convolution) -> bool:
    inside, outside = found.channels
    return inside == outside == found.groups > 1


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
