"""Where a run is: what tells the joins of a program apart, in which order they are explored, and what is live there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from toolchain.frontend.heap import children, is_atomic, is_tracked
from toolchain.frontend.machine.frame import Frame, IndexIter, VMGenerator

_LATE = (1 << 40, 0)


def join_key(function: Any, frames: list[Frame], is_head: bool) -> Any:
    """What arrivals at one join agree on, whatever the state."""
    stack = tuple(
        (
            id(f.info),
            f.pc,
            tuple((h, id(n) if n is not None else v) for h, (n, _, v) in sorted(f.heads.items(), key=lambda i: i[0])),
        )
        for f in frames
    )
    return (id(function), is_head, stack)


def priority(frames: list[Frame], answer: bool) -> tuple[Any, ...]:
    """Less is explored first: what comes before in the program, so that all that meets at a join has arrived."""
    out: list[tuple[int, int]] = []
    for frame in frames:
        loops = [h for h in frame.info.heads if frame.pc in frame.info.heads[h]]
        loops.sort(key=lambda h: -len(frame.info.heads[h]))
        out.extend((h, frame.heads[h][2] if h in frame.heads else 0) for h in loops)
        out.append((frame.pc, 0))
    return (*out, _LATE, (0 if answer else 1, 0))


def is_driven(frame: Frame) -> bool:
    """Whether the loop at the frame's pc takes its elements from a generator: the heads are those of the loops there.

    Were this a head as well, a loop of the generator could be entered in the middle.
    """
    is_for = frame.info.instructions[frame.pc].opname == "FOR_ITER"
    return is_for and isinstance(frame.stack[-1], VMGenerator)


def is_rollable(frame: Frame) -> bool:
    """Whether the loop at the frame's pc has no fixed list of iterations."""
    instruction = frame.info.instructions[frame.pc]
    if instruction.opname != "FOR_ITER":
        return True
    iterator = frame.stack[-1]
    return isinstance(iterator, IndexIter) and not iterator.is_concrete


def references_of(frame: Frame) -> list[Any]:
    """What the frame still needs."""
    return [*frame.stack, *frame.live_locals()]


def tensors_in(references: Iterable[Any]) -> Iterator[torch.Tensor]:
    """The tensors among the references, and those in what cannot change among them."""
    for ref in references:
        if isinstance(ref, torch.Tensor):
            yield ref
        elif not is_atomic(ref) and not is_tracked(ref):
            yield from tensors_in(inner for _, inner in children(ref))
