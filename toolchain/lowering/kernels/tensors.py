"""The operations that rewritings are made of, each with the type of its result; images with the channels last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from toolchain.ir import TensorType, Value
from toolchain.lowering.kernels.convolution import Convolution, Operand
from toolchain.lowering.kernels.editor import Editor


def extents(operand: Operand) -> tuple[int, ...]:
    """Of a tensor whose extents are all known."""
    assert isinstance(operand.type, TensorType)
    return operand.type.dims  # type: ignore[return-value]


def pointwise(editor: Editor, target: str, first: Operand, *others: Operand | float) -> Value:
    """An operation whose result has the type of ``first``; smaller operands are broadcast."""
    return editor.emit(target, extents(first), first, *others)


def permuted(editor: Editor, tensor: Operand, order: tuple[int, ...]) -> Value:
    return editor.emit("aten.permute.default", [extents(tensor)[d] for d in order], tensor, order)


def reshaped(editor: Editor, tensor: Operand, dims: tuple[int, ...]) -> Value:
    """One of ``dims`` may be -1."""
    known = prod(d for d in dims if d != -1)
    inferred = prod(extents(tensor)) // known
    return editor.emit("aten.reshape.default", [inferred if d == -1 else d for d in dims], tensor, dims)


def picked(editor: Editor, tensor: Operand, index: int, dim: int = 0) -> Value:
    """``tensor`` at ``index`` of ``dim``, which goes away."""
    dims = extents(tensor)
    return editor.emit("aten.select.int", dims[:dim] + dims[dim + 1 :], tensor, dim, index)


def stacked(editor: Editor, tensors: Sequence[Operand], dim: int = 0) -> Value:
    dims = extents(tensors[0])
    return editor.emit("aten.stack.default", (*dims[:dim], len(tensors), *dims[dim:]), tuple(tensors), dim)


def copied(editor: Editor, weight: Operand) -> Value:
    """Makes ``prepare_weights`` store ``weight`` in its present layout."""
    return editor.emit("aten.clone.default", extents(weight), weight)


def part(editor: Editor, tensor: Operand, dim: int, start: int, count: int, step: int = 1) -> Operand:
    """``count`` places of ``dim``, from ``start`` on, each ``step`` further."""
    dims = extents(tensor)
    if (start, count, step) == (0, dims[dim], 1):
        return tensor
    stop = start + (count - 1) * step + 1
    return editor.emit("aten.slice.Tensor", (*dims[:dim], count, *dims[dim + 1 :]), tensor, dim, start, stop, step)


def channels_last(editor: Editor, image: Operand) -> Value:
    """N x C x H x W -> N x H x W x C"""
    return permuted(editor, image, (0, 2, 3, 1))


def channels_first(editor: Editor, image: Operand) -> Value:
    """N x H x W x C -> N x C x H x W"""
    return permuted(editor, image, (0, 3, 1, 2))


def padded(editor: Editor, image: Operand, before: tuple[int, int], after: tuple[int, int]) -> Operand:
    """``image`` (channels last) with so many rows and columns of zeros before and after it."""
    n, height, width, channels = extents(image)
    (top, left), (bottom, right) = before, after
    if not any((*before, *after)):
        return image
    dims = (n, top + height + bottom, left + width + right, channels)
    return editor.emit("aten.constant_pad_nd.default", dims, image, (0, 0, left, right, top, bottom), 0.0)


def taps(editor: Editor, found: Convolution) -> Iterator[tuple[int, int, Operand]]:
    """For each row and column of the kernel, the part of the padded image (channels last) that it is applied to."""
    image = padded(editor, channels_last(editor, found.input), found.padding, found.padding)
    (rows, columns), (height, width) = found.kernel, found.size
    for row in range(rows):
        band = part(editor, image, 1, row * found.dilation[0], height, found.stride[0])
        for column in range(columns):
            yield row, column, part(editor, band, 2, column * found.dilation[1], width, found.stride[1])


def with_bias(editor: Editor, result: Operand, found: Convolution) -> Operand:
    """``result`` (channels last) plus the bias of the convolution, if it has one."""
    return result if found.bias is None else pointwise(editor, "aten.add.Tensor", result, found.bias)
