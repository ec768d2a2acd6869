"""What makes a subgraph fast on any target: rewritings of its operations, one file each.

A rewriting is a function from subgraph to subgraph that computes the same but for rounding. What it does to weights
alone stays in the subgraph as operations; ``toolchain.passes.prepare_weights`` evaluates them at build time.
"""

from collections.abc import Callable

from toolchain.ir import Subgraph
from toolchain.lowering.kernels.depthwise import shift_depthwise
from toolchain.lowering.kernels.fold_batch_norm import fold_batch_norm
from toolchain.lowering.kernels.patches import multiply_patches
from toolchain.lowering.kernels.sink_permutes import sink_permutes
from toolchain.lowering.kernels.winograd import convolve_by_winograd

Rewriting = Callable[[Subgraph], Subgraph]

REWRITINGS: tuple[Rewriting, ...] = (
    fold_batch_norm,
    shift_depthwise,
    convolve_by_winograd,
    multiply_patches,
    sink_permutes,
)


def rewrite(subgraph: Subgraph) -> Subgraph:
    """``subgraph`` after all rewritings; its parameters, weights and the types of its results are the same."""
    for rewriting in REWRITINGS:
        subgraph = rewriting(subgraph)
    return subgraph


__all__ = [
    "REWRITINGS",
    "convolve_by_winograd",
    "fold_batch_norm",
    "multiply_patches",
    "rewrite",
    "shift_depthwise",
    "sink_permutes",
]
