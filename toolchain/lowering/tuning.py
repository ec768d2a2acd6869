"""Which extra flags make a subgraph fast. Measured on one thread, ratios of time without to time with the flag:

data tiling, constant weights:  LSTM cell 3.8, 1x1 convolution 6.3, two-layer perceptron 1.4, embedding + softmax 1.7
data tiling, none or depthwise: attention 0.8, vector times matrix 0.7, depthwise convolution 0.7
"""

from __future__ import annotations

from toolchain.ir import Constant, Subgraph, TensorOp, Value, operands_of
from toolchain.lowering.targets import Target

DATA_TILING = "--iree-opt-data-tiling"

_CONTRACTIONS = frozenset(
    f"aten.{name}"
    for name in (
        # Not addmv and mv: packing a vector is slower, and the compiler fails on some ("tiling factors must be ...").
        *("addmm", "baddbmm", "bmm", "einsum", "linear", "matmul", "mm"),
        *("conv1d", "conv2d", "convolution", "gru_cell", "lstm_cell"),
    )
)
_CONVOLUTIONS = frozenset(("aten.conv1d", "aten.conv2d", "aten.convolution"))


def tuning_flags(subgraph: Subgraph, target: Target) -> tuple[str, ...]:
    """Data tiling lays out operands in tiles: free for weights, which are packed once at load, a cost for the rest."""
    if target.kind != "cpu":
        return ()
    constant: set[Value | Constant] = set(subgraph.weights)
    pays = False
    for op in subgraph.operations:
        operands = [o for o in operands_of(op) if isinstance(o, (Value, Constant))]
        packed = [o for o in operands if o in constant]
        if operands and len(packed) == len(operands):
            constant.update(op.results)
        elif packed and _name(op) in _CONTRACTIONS:
            if _name(op) in _CONVOLUTIONS and _groups(op) != 1:
                return ()
            pays = True
    return (DATA_TILING,) if pays else ()


def _name(op: TensorOp) -> str:
    return op.target.rpartition(".")[0]


def _groups(op: TensorOp) -> object:
    # aten.convolution has two arguments more before it; left out, it is one.
    position = 8 if op.target.startswith("aten.convolution") else 6
    return dict(op.kwargs).get("groups", op.args[position] if len(op.args) > position else 1)
