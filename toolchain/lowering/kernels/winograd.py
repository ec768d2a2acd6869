"""3x3 convolution by Winograd's method, channels last: 16 products for every 2x2 outputs instead of 36.

F(2x2, 3x3), whose transforms only add and halve, so that results are as exact as those of the plain sum. The products
are one batched matrix product over all tiles, which the compiler vectorises on any map; its loop over a convolution it
does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolchain.ir import Subgraph
from toolchain.lowering.kernels.convolution import Convolution, Operand
from toolchain.lowering.kernels.editor import Editor
from toolchain.lowering.kernels.replacing import replace_convolutions
from toolchain.lowering.kernels.tensors import (
    channels_last,
    copied,
    extents,
    padded,
    part,
    permuted,
    picked,
    pointwise,
    reshaped,
    stacked,
    with_bias,
)

# With fewer channels, transforming costs more than it saves.
_MIN_CHANNELS = 8


def convolve_by_winograd(subgraph: Subgraph) -> Subgraph:
    return replace_convolutions(subgraph, _applies, _convolved)


def _applies(found: Convolution) -> bool:
    shape = (found.kernel, found.stride, found.dilation, found.groups)
    return shape == ((3, 3), (1, 1), (1, 1), 1) and min(found.channels) >= _MIN_CHANNELS


Line = Sequence[Operand]


def _convolved(editor: Editor, found: Convolution) -> Operand:
    # The last tile of an odd extent computes a row or column too much.
    height, width = found.size
    rows, columns = (height + 1) // 2, (width + 1) // 2
    tiles = _tiles(editor, found, rows, columns)
    products = _products(editor, tiles, _filters(editor, found))
    outputs = _both_ways(products, lambda line: _inverse(editor, line))
    lines = [stacked(editor, line, 3) for line in outputs]
    image = reshaped(editor, stacked(editor, lines, 2), (-1, 2 * rows, 2 * columns, found.channels[1]))
    return with_bias(editor, part(editor, part(editor, image, 1, 0, height), 2, 0, width), found)


def _both_ways(square: Sequence[Line], transform: Callable[[Line], Line]) -> Sequence[Line]:
    """``transform`` applied to the columns of ``square``, then to the rows of what comes out."""
    columns = [transform(column) for column in zip(*square, strict=True)]
    return [transform(row) for row in zip(*columns, strict=True)]


def _tiles(editor: Editor, found: Convolution, rows: int, columns: int) -> Sequence[Line]:
    """4 x 4 transformed elements, each N x rows x columns x C: one of every tile."""
    (top, left), (height, width) = found.padding, found.size
    after = (top + 2 * rows - height, left + 2 * columns - width)
    image = padded(editor, channels_last(editor, found.input), found.padding, after)
    bands = [part(editor, image, 1, i, rows, 2) for i in range(4)]
    pixels = [[part(editor, band, 2, j, columns, 2) for j in range(4)] for band in bands]
    return _both_ways(pixels, lambda line: _forward(editor, line))


def _forward(editor: Editor, line: Line) -> Line:
    a, b, c, d = line
    return _minus(editor, a, c), _plus(editor, b, c), _minus(editor, c, b), _minus(editor, b, d)


def _inverse(editor: Editor, line: Line) -> Line:
    a, b, c, d = line
    return _plus(editor, _plus(editor, a, b), c), _minus(editor, _minus(editor, b, c), d)


def _filters(editor: Editor, found: Convolution) -> Operand:
    """16 x C x outside: made of the weights when a module is loaded, since they are larger than the weights."""
    weight = copied(editor, permuted(editor, found.weight, (2, 3, 1, 0)))
    taps = [[picked(editor, picked(editor, weight, i), j) for j in range(3)] for i in range(3)]
    filters = _both_ways(taps, lambda line: _filter(editor, line))
    return stacked(editor, [f for row in filters for f in row])


def _filter(editor: Editor, line: Line) -> Line:
    a, b, c = line
    outer, inner = _half(editor, _plus(editor, a, c)), _half(editor, b)
    return a, _plus(editor, outer, inner), _minus(editor, outer, inner), c


def _products(editor: Editor, tiles: Sequence[Line], filters: Operand) -> Sequence[Line]:
    *places, inside = extents(tiles[0][0])
    _, _, outside = extents(filters)
    flat = stacked(editor, [reshaped(editor, t, (-1, inside)) for row in tiles for t in row])
    product = editor.emit("aten.bmm.default", (16, extents(flat)[1], outside), flat, filters)
    images = [reshaped(editor, picked(editor, product, i), (*places, outside)) for i in range(16)]
    return [images[i : i + 4] for i in range(0, 16, 4)]


def _plus(editor: Editor, a: Operand, b: Operand) -> Operand:
    return pointwise(editor, "aten.add.Tensor", a, b)


def _minus(editor: Editor, a: Operand, b: Operand) -> Operand:
    return pointwise(editor, "aten.sub.Tensor", a, b)


def _half(editor: Editor, a: Operand) -> Operand:
    return pointwise(editor, "aten.mul.Scalar", a, 0.5)
