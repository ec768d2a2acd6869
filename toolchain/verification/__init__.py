"""Compares a bundle with eager PyTorch: outcomes, paths, and every edge of the control-flow graph.

inputs:   random calls like the examples.
outcomes: what a call did, and how two of them differ.
worlds:   the three ways to run a call: plain Python, the front end's machine on real tensors, the compiled host.
natural:  runs calls freely in all three and judges them.
graph:    the edges, and the way to one of them.
forcing:  takes the edges that are left.
"""

from toolchain.verification.verifier import verify_bundle

__all__ = ["verify_bundle"]
