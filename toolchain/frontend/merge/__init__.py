"""Merging the states of several arrivals at one point of the program: abstract interpretation's join.

The arrivals' heaps are walked in parallel. What is equal stays; numbers and tensors that differ become block arguments;
lists of different length become host lists; anything else that differs means that the paths stay apart (``Mismatch``).
Two leaves that differ in the same way on all arrivals share one argument, so relations such as "the counter is the
length of the tensor" survive.
"""

from toolchain.frontend.merge.hints import Conflicts, Hints, Mismatch, OtherIteration
from toolchain.frontend.merge.join import Merged, Parameter
from toolchain.frontend.merge.merger import Merger
from toolchain.frontend.merge.wording import describe

__all__ = ["Conflicts", "Hints", "Merged", "Merger", "Mismatch", "OtherIteration", "Parameter", "describe"]
