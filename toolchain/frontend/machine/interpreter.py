"""The machine: runs frames instruction by instruction.

Joins, loop heads and decisions are reported to the ``Explorer`` that drives it; everything else is plain Python.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol

from toolchain.frontend.machine import control_instructions, instructions, protocols
from toolchain.frontend.machine import operations as ops
from toolchain.frontend.machine.calls import PUSHED, Calls
from toolchain.frontend.machine.code import EXIT
from toolchain.frontend.machine.frame import PUSH, Frame, ReturnMode, VMGenerator
from toolchain.frontend.numbers import StagedBool
from toolchain.frontend.recorder import Recorder
from toolchain.frontend.signals import Signal, Unsupported, is_internal
from toolchain.ir import UNKNOWN_LOCATION, Location

_HANDLERS = instructions.HANDLERS | control_instructions.HANDLERS


class Driver(Protocol):
    """Who explores the paths of a run."""

    def at_join(self, machine: Machine, is_head: bool) -> None:
        """The machine is about to execute a join; may end the block (raising ``PathEnds``)."""

    def at_decision(self, machine: Machine, condition: StagedBool) -> None:
        """The machine is about to branch on a condition that the path has no answer for; ends the block."""

    def is_reachable(self, value: Any) -> bool:
        """Whether the program can still get hold of a mutable object that is on no stack."""


class Finished(Signal):
    """The root frame returned (or an exception left it)."""

    def __init__(self, result: Any = None, exception: BaseException | None = None) -> None:
        super().__init__()
        self.result = result
        self.exception = exception


class Machine:
    """frames:  the call stack, innermost last.
    entered: the next instruction is the join that the present block starts with.
    answer:  what the next conditional jump does, in a block that starts at a decision.
    context_values: what the program has set its context variables to.
    most_instructions: of one block, before the exploration gives up."""

    most_instructions = 2_000_000

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.frames: list[Frame] = []
        self.recorder: Recorder = None  # type: ignore[assignment]
        self.calls = Calls(self)
        self.raised_at: Location = UNKNOWN_LOCATION
        self.entered = False
        self.answer: bool | None = None
        self.context_values: dict[ContextVar[Any], Any] = {}

    # ---- services

    def location(self) -> Location:
        """The innermost line of the user's source."""
        for frame in reversed(self.frames):
            if not frame.info.code.co_filename.endswith(
                (
                    "machine/polyfills.py",
                    "machine/iteration_polyfills.py",
                    "machine/recurrent_polyfills.py",
                    "nn/modules/container.py",
                    "nn/modules/module.py",
                )
            ):
                return frame.location()
        return UNKNOWN_LOCATION

    def in_try(self) -> bool:
        """Whether an exception raised now could be caught by the program."""
        return any(self._catches(frame) for frame in self.frames)

    def refuse_if_seen(self, what: str) -> None:
        """Raises Unsupported TC165 if the program would see what ``what`` raises at run time."""
        if any(map(_sees_exceptions, self.frames)):
            text = f"{what} inside of a try or with statement, which would see what it raises"
            raise Unsupported("TC165", text, "make the call outside of the statement")

    @staticmethod
    def _catches(frame: Frame) -> bool:
        # A handler that only cleans up and re-raises (with, finally) still observes the exception: it counts as well.
        return frame.info.handler_at(frame.current) is not None

    def push_frame(self, frame: Frame) -> None:
        if len(self.frames) > 200:
            raise Unsupported(
                "TC150", "the recursion depth depends on data or exceeds 200", "use a loop with an explicit stack"
            )
        self.frames.append(frame)

    def truth(self, value: Any) -> Any:
        """``bool(value)`` as a bool or a StagedBool."""
        return ops.truth(self.recorder, value)

    # ---- running

    def run(self) -> None:
        """Runs until the block ends; always leaves by a signal."""
        count = 0
        while count < self.most_instructions or not self.recorder.is_symbolic:
            self.step()
            count += 1
        text = f"{count} instructions were executed here without a decision or an end"
        raise Unsupported("TC101", text, "use tensor operations in place of long loops, or loop over a run-time number")

    def step(self) -> None:
        frame = self.frames[-1]
        pc = frame.pc
        info = frame.info
        is_head = pc in info.heads
        if self.entered:
            self.entered = False
        elif is_head or (frame.open and (pc in info.joins or pc in frame.open)):
            frame.current = pc
            self.driver.at_join(self, is_head)
        instruction = info.instructions[pc]
        frame.current = pc
        frame.pc = pc + 1
        handler = _HANDLERS.get(instruction.opname)
        if handler is None:
            raise Unsupported(
                "TC151",
                f"the bytecode instruction {instruction.opname} is not supported (a match statement, async code?)",
            )
        try:
            handler(self, frame, instruction.arg, instruction)
        except (Signal, KeyboardInterrupt):
            raise
        except BaseException as exception:  # the user's program raised
            if is_internal(exception):
                raise
            self.recorder_check()
            self.raise_(exception)
        self.recorder_check()

    def recorder_check(self) -> None:
        if self.recorder.closed:
            from toolchain.frontend.signals import PathEnds

            raise PathEnds

    def raise_(self, exception: BaseException) -> None:
        """Unwinds to the innermost handler."""
        if isinstance(exception, ops.FAKE_ERRORS):
            raise ops.unsupported_operation(exception) from exception
        if _shows_staged_values(exception):
            text = f"an operation that a value known only at run time does not support ({exception})"
            raise Unsupported("TC120", text) from exception
        self.raised_at = self.location()
        handled = next((f.handled for f in reversed(self.frames) if f.handled is not None), None)
        if handled is not exception and exception.__context__ is None:
            exception.__context__ = handled
        while self.frames:
            frame = self.frames[-1]
            handler = frame.info.handler_at(frame.current)
            if handler is not None:
                del frame.stack[handler.depth :]
                if handler.push_lasti:
                    frame.stack.append(frame.current)
                frame.stack.append(exception)
                frame.pc = handler.target
                return
            self.frames.pop()
            if frame.generator is not None:
                frame.generator.frame = None
                frame.generator.running = False
                if isinstance(exception, StopIteration):
                    exception = RuntimeError("generator raised StopIteration")
            if self.frames and frame.open:
                self.frames[-1].open |= {EXIT}
        raise Finished(exception=exception)

    def deliver(self, mode: ReturnMode, value: Any) -> None:
        """Hands the result of a call to the frame on top."""
        frame = self.frames[-1]
        kind = mode[0]
        if kind == "push":
            frame.stack.append(value)
        elif kind == "object":
            frame.stack.append(mode[1])
        elif kind == "truth":
            frame.stack[-1] = protocols.Tested(frame.stack[-1], value)
        elif kind == "getiter":
            self._deliver_iterator(frame, value)
        elif kind != "discard":
            raise AssertionError(kind)

    def _deliver_iterator(self, frame: Frame, value: Any) -> None:
        polyfill = ops.iteration_of(self, value)
        if polyfill is None:
            frame.stack.append(ops.get_iter(self, value))
        else:
            self.call(polyfill, (value,), {})

    def return_(self, value: Any) -> None:
        frame = self.frames.pop()
        if not self.frames:
            raise Finished(value)
        caller = self.frames[-1]
        if frame.generator is not None:
            frame.generator.frame = None
            frame.generator.running = False
            self._exhausted(caller, frame.mode, value)
        else:
            self.deliver(frame.mode, value)
        if frame.open:  # the callee's paths differ: they meet before the caller goes on
            caller.open |= {caller.pc}

    def _exhausted(self, caller: Frame, mode: ReturnMode, value: Any) -> None:
        kind = mode[0]
        if kind == "for":
            caller.stack.pop()
            caller.pc = mode[1]
        elif kind == "send":
            caller.stack.pop()
            caller.stack.append(value)
            caller.pc = mode[1]
        elif kind == "next" and mode[1]:
            caller.stack.append(mode[2])
        else:
            self.raise_(StopIteration(value) if value is not None else StopIteration())

    def yield_(self, value: Any) -> None:
        frame = self.frames.pop()
        assert frame.generator is not None
        frame.generator.running = False
        caller = self.frames[-1]
        caller.stack.append(value)
        if frame.open:
            caller.open |= {caller.pc}

    def resume(self, generator: VMGenerator, value: Any, mode: ReturnMode) -> None:
        if generator.running:
            raise ValueError("generator already executing")
        if generator.frame is None:
            self._exhausted(self.frames[-1], mode, None)
            return
        frame = generator.frame
        frame.stack.append(value)
        frame.mode = mode
        generator.running = True
        self.push_frame(frame)

    def throw(self, generator: VMGenerator, exception: BaseException, mode: ReturnMode) -> None:
        if generator.frame is None:
            raise exception
        frame = generator.frame
        frame.mode = mode
        generator.running = True
        self.push_frame(frame)
        self.raise_(exception)

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], mode: ReturnMode = PUSH) -> None:
        result = self.calls.call(function, args, kwargs, mode)
        if result is not PUSHED:
            self.deliver(mode, result)

    def branch(self, frame: Frame, condition: Any) -> bool:
        """The answer to a conditional jump; ends the block where the path has none."""
        if not isinstance(condition, StagedBool):
            return bool(condition)
        if self.answer is not None:
            answer, self.answer = self.answer, None
            self.recorder.learn(condition, answer)
            return answer
        known = self.recorder.known_decision(condition)
        if known is None:
            frame.pc = frame.current
            self.driver.at_decision(self, condition)
            raise AssertionError("the driver must end the block")
        return known


def _sees_exceptions(frame: Frame) -> bool:
    """Whether some code of the frame would run after an exception, other than to put PyTorch's modes back."""
    handler = frame.info.handler_at(frame.current)
    while handler is not None:
        first, second = (i.opname for i in frame.info.instructions[handler.target : handler.target + 2])
        leave = frame.stack[handler.depth - 1] if second == "WITH_EXCEPT_START" else None
        is_mode = type(getattr(leave, "__self__", None)).__module__ == "torch.autograd.grad_mode"
        if not is_mode and first != "COPY":  # with which the end of every except clause passes exceptions on
            return True
        handler = frame.info.handler_at(handler.target)
    return False


def _shows_staged_values(exception: BaseException) -> bool:
    """Whether native code refused a staged value for what it is. A RuntimeError of the program has no traceback."""
    if not isinstance(exception, TypeError) and (
        not isinstance(exception, RuntimeError) or exception.__traceback__ is None
    ):
        return False
    return any(word in str(exception) for word in ("Staged", "SymInt", "HostList", "VMGenerator"))


__all__ = ["Driver", "Finished", "Machine"]
