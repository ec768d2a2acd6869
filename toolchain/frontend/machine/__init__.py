"""An interpreter of CPython 3.11 bytecode whose whole state is explicit.

The user's functions run here instruction by instruction, on fake tensors and staged scalars. Because frames, value
stacks, iterators and generators are plain objects, a point of a run can be captured, restored, compared and merged: the
state at a join is the whole continuation. Functions without bytecode, and PyTorch's own, are called natively.
"""
