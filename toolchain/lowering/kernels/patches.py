"""Convolution as one matrix product, channels last: of the patches that the kernel sees, and the weights.

The compiler packs a weight for its matrix products, but not for its convolutions. Patches of an image with few channels
are not worth gathering.
"""

from __future__ import annotations

from toolchain.ir import Subgraph
from toolchain.lowering.kernels.convolution import Convolution, Operand
from toolchain.lowering.kernels.editor import Editor
from toolchain.lowering.kernels.replacing import replace_convolutions
from toolchain.lowering.kernels.tensors import copied, extents, permuted, reshaped, taps, with_bias

_MIN_CHANNELS = 8


def multiply_patches(subgraph: Subgraph) -> Subgraph:
    return replace_convolutions(subgraph, _applies, _product)


def _applies(found: Convolution) -> bool:
    return found.groups == 1 and found.channels[0] >= _MIN_CHANNELS


def _product(editor: Editor, found: Convolution) -> Operand:
    rows, (_, outside) = _patches(editor, found), found.channels
    places, elements = extents(rows)
    # Transposed in the product: a weight laid out for it makes the compiler's loop twice as slow.
    weight = reshaped(editor, _channels_last(editor, found), (outside, elements))
    turned = editor.emit("aten.t.default", (elements, outside), weight)
    product = editor.emit("aten.mm.default", (places, outside), rows, turned)
    return with_bias(editor, reshaped(editor, product, (-1, *found.size, outside)), found)


def _patches(editor: Editor, found: Convolution) -> Operand:
    """One row for each place of the result, one column for each element of the kernel."""
    parts = [seen for _, _, seen in taps(editor, found)]
    *places, channels = extents(parts[0])
    elements = len(parts) * channels
    whole = parts[0] if len(parts) == 1 else editor.emit("aten.cat.default", (*places, elements), tuple(parts), 3)
    return reshaped(editor, whole, (-1, elements))


def _channels_last(editor: Editor, found: Convolution) -> Operand:
    weight = permuted(editor, found.weight, (0, 2, 3, 1))
    return weight if found.kernel == (1, 1) else copied(editor, weight)
