"""Frames, generators and iterators: the parts of a continuation."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import torch

from toolchain.frontend.context import context
from toolchain.frontend.machine.code import CodeInfo
from toolchain.frontend.numbers import StagedInt, minimum
from toolchain.frontend.staged import HostList, context_length
from toolchain.ir import Location


class _Null:
    def __repr__(self) -> str:
        return "<NULL>"


NULL = _Null()
"""An unbound local, or the empty slot that CPython pushes beside a callable."""

# What happens to the result of a frame in the frame below: ("push",), ("discard",), ("object", instance),
# ("for", target), ("send", target), ("next", has_default, default), ("native",)
ReturnMode = tuple[Any, ...]
PUSH: ReturnMode = ("push",)


class Frame:
    """One activation of an interpreted function.

    pc:       the next instruction; ``current`` the one being executed.
    heads:    per loop that is active: the exploration node of its head, and the number of decisions at its last visit.
    open:     instructions where decisions taken in this frame close (code.EXIT: not before the frame returns).
    handled:  the exception that is being handled.
    """

    __slots__ = (
        "current", "function", "generator", "handled", "heads", "info",
        "kw_names", "locals", "mode", "open", "pc", "stack",
    )  # fmt: skip

    def __init__(self, info: CodeInfo, function: FunctionType, local_values: list[Any], mode: ReturnMode) -> None:
        self.info = info
        self.function = function
        self.locals = local_values
        self.stack: list[Any] = []
        self.pc = 0
        self.current = 0
        self.mode = mode
        self.heads: dict[int, tuple[Any, int, int]] = {}
        self.open: frozenset[int] = frozenset()
        self.handled: BaseException | None = None
        self.generator: VMGenerator | None = None
        self.kw_names: tuple[str, ...] = ()

    def location(self) -> Location:
        code = self.info.code
        instruction = self.info.instructions[min(self.current, len(self.info.instructions) - 1)]
        return Location(code.co_filename, instruction.line, instruction.column, code.co_qualname)

    def live_locals(self) -> list[Any]:
        return [self.locals[n] for n in sorted(self.info.live_at(self.pc, self.current))]

    def live_heads(self, pc: int) -> dict[int, tuple[Any, int, int]]:
        """The entries of ``heads`` whose loop ``pc`` is in."""
        return {head: entry for head, entry in self.heads.items() if pc in self.info.heads[head]}


class VMGenerator:
    """A suspended, running or finished interpreted generator."""

    __slots__ = ("frame", "running")

    def __init__(self, frame: Frame | None) -> None:
        self.frame = frame
        self.running = False


class StagedRange:
    """``range`` with an end that is only known at run time."""

    __slots__ = ("length", "start", "step")

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        if not isinstance(step, int) or step == 0:
            if step == 0 and isinstance(step, int):
                raise ValueError("range() arg 3 must not be zero")
            step = int(step)
        self.start = start
        self.step = step
        gap = (stop - start + step - 1) // step if step > 0 else (start - stop - step - 1) // -step
        self.length = minimum("max", gap, 0) if isinstance(gap, StagedInt) else max(gap, 0)


class IndexIter:
    """An iterator over something that can be indexed; ``index`` is what has been consumed.

    source: a tuple, list, range, StagedRange, HostList or (with a first extent that is unknown) a tensor.
    """

    __slots__ = ("index", "source")

    def __init__(self, source: Any, index: Any = 0) -> None:
        self.source = source
        self.index = index

    def length(self) -> Any:
        source = self.source
        if isinstance(source, StagedRange):
            return source.length
        if isinstance(source, HostList):
            return context_length(source)
        if isinstance(source, torch.Tensor):
            extent = source.shape[0]
            return extent if isinstance(extent, int) else context().box(extent)
        return len(source)

    @property
    def is_concrete(self) -> bool:
        """Its position is a constant of the path: loops over it are unrolled."""
        source = self.source
        return isinstance(source, (tuple, list, str, bytes)) or (
            isinstance(source, range) and len(source) <= ROLL_ABOVE
        )


ROLL_ABOVE = 3
"""Ranges longer than this are rolled if a decision happens in the loop."""
