"""Which extra flags make a subgraph fast. Measured on one thread, ratios of time without to time with the flag:

data tiling, constant weights:  LSTM cell 3.8, two-layer perceptron 1.4, embedding + softmax 1.7, Winograd's products
                                with 512 channels 1.7, with 128 1.4, with 64 1.0, with 16 0.8
data tiling, none or depthwise: attention 0.8, vector times matrix 0.7, depthwise convolution 0.7
channels last, 3 channels:      7x7 of stride 2 15, 3x3 on 32x32 1.7; on 256x256 0.6; with 128 channels 0.6
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from math import prod

from toolchain.ir import Constant, Subgraph, TensorOp, TensorType, Value, operands_of
from toolchain.ir.effects import is_view
from toolchain.lowering.targets import Target

DATA_TILING = "--iree-opt-data-tiling"
CHANNELS_LAST = (
    "--iree-preprocessing-pass-pipeline=builtin.module(util.func(iree-preprocessing-convert-conv-to-channels-last))"
)
# Weights that are larger than what they are made of are computed when the module is loaded, not in every call.
LARGE_WEIGHTS = "--iree-opt-const-expr-max-size-increase-threshold=1000000000"

_CONVOLUTIONS = frozenset(("aten.conv1d", "aten.conv2d", "aten.convolution"))
_PRODUCTS = frozenset(
    f"aten.{name}"
    # Not addmv and mv: packing a vector is slower, and the compiler fails on some ("tiling factors must be ...").
    for name in ("addmm", "baddbmm", "bmm", "einsum", "linear", "matmul", "mm", "gru_cell", "lstm_cell")
)
# A batch of products, as Winograd's method makes one, is better not tiled if its matrices have fewer elements.
_BATCHED, _MIN_TILED = frozenset(("aten.baddbmm", "aten.bmm")), 1 << 13
_MAX_CHANNELS_LAST = 7


def tuning_flags(subgraph: Subgraph, target: Target) -> tuple[str, ...]:
    """Data tiling lays out operands in tiles: free for weights, which are packed once at load, a cost for the rest.

    It and the layout of convolutions were measured on processors, and are for these alone.
    """
    makers = _weight_only(subgraph)
    weighted = [(op, fixed) for op in subgraph.operations if (fixed := _weights_of(op, makers))]
    convolutions = [(op, fixed) for op, fixed in weighted if _name(op) in _CONVOLUTIONS]
    products = [(op, fixed) for op, fixed in weighted if _name(op) in _PRODUCTS]
    plain = [(op, fixed) for op, fixed in convolutions if _groups(op) == 1]
    flags = []
    on_cpu = target.kind == "cpu"
    if on_cpu and plain == convolutions and sum(starmap(_tiling_gain, (*convolutions, *products))) > 0:
        flags.append(DATA_TILING)
    if on_cpu and any(_is_static_image(op) and _extents(fixed[0])[1] <= _MAX_CHANNELS_LAST for op, fixed in plain):
        flags.append(CHANNELS_LAST)
    if any(x in makers and not is_view(makers[x]) for _, fixed in products for x in fixed):
        flags.append(LARGE_WEIGHTS)
    return tuple(flags)


def _weight_only(subgraph: Subgraph) -> dict[Value | Constant, TensorOp]:
    """What is computed from weights alone, and how."""
    makers: dict[Value | Constant, TensorOp] = {}
    for op in subgraph.operations:
        if _operands(op) and all(isinstance(x, Constant) or x in makers for x in _operands(op)):
            makers.update(dict.fromkeys(op.results, op))
    return makers


def _weights_of(op: TensorOp, makers: dict[Value | Constant, TensorOp]) -> list[Value | Constant]:
    """The operands that are made of weights alone; none if all are."""
    operands = _operands(op)
    fixed = [x for x in operands if isinstance(x, Constant) or x in makers]
    return fixed if len(fixed) < len(operands) else []


def _operands(op: TensorOp) -> list[Value | Constant]:
    return [x for x in operands_of(op) if isinstance(x, (Value, Constant))]


def _tiling_gain(op: TensorOp, fixed: Sequence[Value | Constant]) -> int:
    """How many elements of weights are better laid out in tiles; negative if they are better not."""
    elements = sum(prod(_extents(x)) for x in fixed)
    small = _name(op) in _BATCHED and prod(_extents(fixed[0])[-2:]) < _MIN_TILED
    return -elements if small else elements


def _is_static_image(op: TensorOp) -> bool:
    """The compiler's pass fails on unknown extents ("operand #1 does not dominate this use")."""
    types = [x.type for x in (*_operands(op), *op.results)]
    return all(isinstance(t, TensorType) and t.is_static for t in types) and len(_extents(op.results[0])) == 4


def _extents(weight: Value | Constant) -> tuple[int, ...]:
    assert isinstance(weight.type, TensorType)
    return tuple(1 if d is None else d for d in weight.type.dims)


def _name(op: TensorOp) -> str:
    return op.target.rpartition(".")[0]


def _groups(op: TensorOp) -> object:
    # aten.convolution has two arguments more before it; left out, it is one.
    position = 8 if op.target.startswith("aten.convolution") else 6
    return dict(op.kwargs).get("groups", op.args[position] if len(op.args) > position else 1)
