"""Batch norm after a convolution: scale and shift go into the convolution's weight and bias.

Half of the passes over memory of a convolutional network, and half of its compile time, go away. First, since the other
rewritings look at convolutions with their final weights.
"""

from __future__ import annotations

from dataclasses import replace

from toolchain.ir import Subgraph, TensorOp
from toolchain.lowering.kernels.convolution import TARGET
from toolchain.lowering.kernels.editor import Editor, is_static
from toolchain.lowering.kernels.tensors import extents, pointwise, reshaped

_NORMS = ("aten.native_batch_norm.default", "aten._native_batch_norm_legit_no_training.default")
_DTYPES = ("float32", "float64")


def fold_batch_norm(subgraph: Subgraph) -> Subgraph:
    """Only statistics that are weights are folded: those that the program updates are parameters of the subgraph."""
    editor = Editor(subgraph)
    for op in editor:
        convolution = editor.makers.get(op.args[0]) if op.target in _NORMS else None
        if convolution is not None and _folds(editor, op, convolution):
            _fold(editor, op, convolution)
        else:
            editor.keep(op)
    return editor.finish()


def _folds(editor: Editor, norm: TensorOp, convolution: TensorOp) -> bool:
    if convolution.target != TARGET or len(convolution.args) != 9 or convolution.args[6]:
        return False
    fixed = (*convolution.args[1:3], *norm.args[1:5])
    return (
        editor.uses(convolution.results[0]) == 1
        and not any(map(editor.uses, norm.results[1:]))
        and norm.args[3] is not None
        and not _trains(norm)
        and editor.is_fixed(*fixed)
        and is_static(*fixed)
        and all(a.type.dtype == convolution.results[0].type.dtype for a in fixed if a is not None)  # type: ignore[union-attr]
        and convolution.results[0].type.dtype in _DTYPES  # type: ignore[union-attr]
    )


def _trains(norm: TensorOp) -> bool:
    return norm.target == _NORMS[0] and norm.args[5] is not False


def _fold(editor: Editor, norm: TensorOp, convolution: TensorOp) -> None:
    x, weight, bias, *rest = convolution.args
    _, gamma, beta, mean, variance = norm.args[:5]
    scale = pointwise(editor, "aten.rsqrt.default", pointwise(editor, "aten.add.Scalar", variance, norm.args[-1]))
    if gamma is not None:
        scale = pointwise(editor, "aten.mul.Tensor", scale, gamma)
    shift = mean if bias is None else pointwise(editor, "aten.sub.Tensor", mean, bias)
    shift = pointwise(editor, "aten.neg.default", pointwise(editor, "aten.mul.Tensor", shift, scale))
    if beta is not None:
        shift = pointwise(editor, "aten.add.Tensor", shift, beta)
    per_channel = reshaped(editor, scale, (-1, *(1 for _ in extents(weight)[1:])))
    scaled = pointwise(editor, "aten.mul.Tensor", weight, per_channel)
    editor.keep(replace(convolution, args=(x, scaled, shift, *rest), results=norm.results[:1]))
