"""The machine: runs frames instruction by instruction.

Joins, loop heads and decisions are reported to the ``Explorer`` that drives it; everything else is plain Python.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any, Protocol

from toolchain.frontend.machine import operations as ops
from toolchain.frontend.machine import protocols
from toolchain.frontend.machine.calls import PUSHED, Calls
from toolchain.frontend.machine.code import EXIT
from toolchain.frontend.machine.frame import NULL, PUSH, Frame, IndexIter, ReturnMode, VMGenerator
from toolchain.frontend.recorder import Recorder
from toolchain.frontend.signals import Signal, Unsupported, is_internal
from toolchain.frontend.staged import HostList, StagedBool
from toolchain.ir import UNKNOWN_LOCATION, Location

_BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "**=": operator.ipow, "@=": operator.imatmul, "&=": operator.iand, "|=": operator.ior,
    "^=": operator.ixor, "<<=": operator.ilshift, ">>=": operator.irshift,
}  # fmt: skip
_SYMBOLS = [
    "+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^", "+=", "&=", "//=", "<<=", "@=", "*=", "%=",
    "|=", "**=", ">>=", "-=", "/=", "^=",
]  # fmt: skip
_BINARY_BY_NUMBER = [_BINARY[s] for s in _SYMBOLS]
_COMPARE = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge
}  # fmt: skip


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
        if isinstance(exception, TypeError) and any(
            word in str(exception) for word in ("Staged", "SymInt", "HostList", "VMGenerator")
        ):
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


# --------------------------------------------------------------------------------------------------------------------
# One function per instruction: (machine, frame, arg, instruction).

_HANDLERS: dict[str, Any] = {}


_Handler = Callable[["Machine", Frame, int, Any], None]


def _op(*names: str) -> Callable[[_Handler], _Handler]:
    def register(function: _Handler) -> _Handler:
        for name in names:
            _HANDLERS[name] = function
        return function

    return register


@_op("NOP", "RESUME", "PRECALL", "EXTENDED_ARG", "CACHE", "MAKE_NOTHING", "ASYNC_GEN_WRAP")
def _nop(m: Machine, f: Frame, arg: int, i: Any) -> None:
    pass


@_op("POP_TOP")
def _pop_top(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.pop()


@_op("PUSH_NULL")
def _push_null(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(NULL)


@_op("COPY")
def _copy(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(f.stack[-arg])


@_op("SWAP")
def _swap(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack[-1], f.stack[-arg] = f.stack[-arg], f.stack[-1]


# ---- variables


@_op("LOAD_CONST")
def _load_const(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(i.argval)


@_op("LOAD_FAST")
def _load_fast(m: Machine, f: Frame, arg: int, i: Any) -> None:
    value = f.locals[arg]
    if value is NULL:
        raise UnboundLocalError(f"cannot access local variable '{i.argval}' where it is not associated with a value")
    f.stack.append(value)


@_op("STORE_FAST")
def _store_fast(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.locals[arg] = f.stack.pop()


@_op("DELETE_FAST")
def _delete_fast(m: Machine, f: Frame, arg: int, i: Any) -> None:
    if f.locals[arg] is NULL:
        raise UnboundLocalError(f"cannot access local variable '{i.argval}' where it is not associated with a value")
    f.locals[arg] = NULL


@_op("MAKE_CELL")
def _make_cell(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.locals[arg] = CellType() if f.locals[arg] is NULL else CellType(f.locals[arg])


@_op("COPY_FREE_VARS")
def _copy_free_vars(m: Machine, f: Frame, arg: int, i: Any) -> None:
    closure = f.function.__closure__ or ()
    f.locals[f.info.locals_count - len(closure) :] = list(closure)


@_op("LOAD_CLOSURE")
def _load_closure(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(f.locals[arg])


@_op("LOAD_DEREF")
def _load_deref(m: Machine, f: Frame, arg: int, i: Any) -> None:
    try:
        f.stack.append(f.locals[arg].cell_contents)
    except ValueError:
        raise NameError(
            f"cannot access free variable '{i.argval}' where it is not associated with a value in enclosing scope"
        ) from None


@_op("STORE_DEREF")
def _store_deref(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.locals[arg].cell_contents = f.stack.pop()


@_op("DELETE_DEREF")
def _delete_deref(m: Machine, f: Frame, arg: int, i: Any) -> None:
    del f.locals[arg].cell_contents


@_op("LOAD_GLOBAL")
def _load_global(m: Machine, f: Frame, arg: int, i: Any) -> None:
    if arg & 1:
        f.stack.append(NULL)
    f.stack.append(ops.load_global(f.function, i.argval))


@_op("LOAD_NAME")
def _load_name(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(ops.load_global(f.function, i.argval))


@_op("STORE_GLOBAL", "STORE_NAME")
def _store_global(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.function.__globals__[i.argval] = f.stack.pop()


@_op("DELETE_GLOBAL")
def _delete_global(m: Machine, f: Frame, arg: int, i: Any) -> None:
    del f.function.__globals__[i.argval]


# ---- attributes, items


@_op("LOAD_ATTR")
def _load_attr(m: Machine, f: Frame, arg: int, i: Any) -> None:
    getter = ops.property_getter(f.stack[-1], i.argval)
    owner = f.stack.pop()
    if getter is not None:
        m.call(getter, (owner,), {})
    else:
        f.stack.append(ops.load_attr(m, owner, i.argval))


@_op("LOAD_METHOD")
def _load_method(m: Machine, f: Frame, arg: int, i: Any) -> None:
    owner = f.stack.pop()
    f.stack.append(NULL)
    f.stack.append(ops.load_attr(m, owner, i.argval))


@_op("STORE_ATTR")
def _store_attr(m: Machine, f: Frame, arg: int, i: Any) -> None:
    owner, value = f.stack.pop(), f.stack.pop()
    setter = protocols.setter(owner, i.argval)
    if setter is not None:
        m.call(setter, (owner, value), {}, ("discard",))
    else:
        ops.store_attr(owner, i.argval, value)


@_op("DELETE_ATTR")
def _delete_attr(m: Machine, f: Frame, arg: int, i: Any) -> None:
    delattr(f.stack.pop(), i.argval)


@_op("BINARY_SUBSCR")
def _binary_subscr(m: Machine, f: Frame, arg: int, i: Any) -> None:
    key, container = f.stack[-1], f.stack[-2]
    method = m.calls.special_method(container, "__getitem__")
    if method is not None:
        del f.stack[-2:]
        m.call(method, (container, key), {})
        return
    result = ops.get_item(m, container, key)
    del f.stack[-2:]
    f.stack.append(result)


@_op("STORE_SUBSCR")
def _store_subscr(m: Machine, f: Frame, arg: int, i: Any) -> None:
    key, container, value = f.stack[-1], f.stack[-2], f.stack[-3]
    method = m.calls.special_method(container, "__setitem__")
    if method is not None:
        del f.stack[-3:]
        m.call(method, (container, key, value), {}, ("discard",))
        return
    del f.stack[-3:]
    ops.set_item(m, container, key, value)


@_op("DELETE_SUBSCR")
def _delete_subscr(m: Machine, f: Frame, arg: int, i: Any) -> None:
    key, container = f.stack.pop(), f.stack.pop()
    del container[key]


# ---- operators


_WAITS = object()


def _tested(m: Machine, f: Frame) -> Any:
    """The truth of the top of the stack; _WAITS after pushing the call of the user's method that decides about it (the
    instruction is executed again when that returns)."""
    top = f.stack[-1]
    if type(top) is protocols.Tested:
        return m.truth(top.result)
    method = protocols.truth_method(m, top)
    if method is None:
        return m.truth(top)
    f.pc = f.current
    m.call(method, (top,), {}, ("truth",))
    return _WAITS


def _unary(m: Machine, f: Frame, name: str, function: Any) -> None:
    operand = f.stack.pop()
    method = m.calls.special_method(operand, name)
    if method is not None:
        m.call(method, (operand,), {})
    else:
        f.stack.append(ops.unary(m, function, operand))


@_op("UNARY_NOT")
def _unary_not(m: Machine, f: Frame, arg: int, i: Any) -> None:
    tested = _tested(m, f)
    if tested is not _WAITS:
        f.stack[-1] = ops.not_(tested)


@_op("UNARY_NEGATIVE")
def _unary_negative(m: Machine, f: Frame, arg: int, i: Any) -> None:
    _unary(m, f, "__neg__", operator.neg)


@_op("UNARY_POSITIVE")
def _unary_positive(m: Machine, f: Frame, arg: int, i: Any) -> None:
    _unary(m, f, "__pos__", operator.pos)


@_op("UNARY_INVERT")
def _unary_invert(m: Machine, f: Frame, arg: int, i: Any) -> None:
    _unary(m, f, "__invert__", operator.invert)


@_op("BINARY_OP")
def _binary_op(m: Machine, f: Frame, arg: int, i: Any) -> None:
    right, left = f.stack[-1], f.stack[-2]
    if protocols.is_user_object(left) or protocols.is_user_object(right):
        del f.stack[-2:]
        if not protocols.call_operator(m, _SYMBOLS[arg], left, right):
            f.stack.append(ops.binary(m, _BINARY_BY_NUMBER[arg], left, right))
        return
    result = ops.binary(m, _BINARY_BY_NUMBER[arg], left, right)
    if result is PUSHED:
        return
    del f.stack[-2:]
    f.stack.append(result)


@_op("COMPARE_OP")
def _compare_op(m: Machine, f: Frame, arg: int, i: Any) -> None:
    right, left = f.stack.pop(), f.stack.pop()
    user = protocols.is_user_object(left) or protocols.is_user_object(right)
    if not (user and protocols.call_operator(m, i.argval, left, right)):
        f.stack.append(ops.binary(m, _COMPARE[i.argval], left, right))


@_op("IS_OP")
def _is_op(m: Machine, f: Frame, arg: int, i: Any) -> None:
    right, left = f.stack.pop(), f.stack.pop()
    same = ops.is_(m, left, right)
    f.stack.append(ops.not_(same) if arg else same)


@_op("CONTAINS_OP")
def _contains_op(m: Machine, f: Frame, arg: int, i: Any) -> None:
    container, item = f.stack.pop(), f.stack.pop()
    if protocols.call_contains(m, container, item, bool(arg)):
        return
    inside = ops.contains(m, container, item)
    f.stack.append(ops.not_(inside) if arg else inside)


@_op("GET_LEN")
def _get_len(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(len(f.stack[-1]))


# ---- building


@_op("BUILD_TUPLE")
def _build_tuple(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(tuple(ops.pop_many(f.stack, arg)))


@_op("BUILD_LIST")
def _build_list(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(ops.pop_many(f.stack, arg))


@_op("BUILD_SET")
def _build_set(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(set(ops.pop_many(f.stack, arg)))


@_op("BUILD_MAP")
def _build_map(m: Machine, f: Frame, arg: int, i: Any) -> None:
    flat = ops.pop_many(f.stack, 2 * arg)
    f.stack.append(dict(zip(flat[::2], flat[1::2], strict=True)))


@_op("BUILD_CONST_KEY_MAP")
def _build_const_key_map(m: Machine, f: Frame, arg: int, i: Any) -> None:
    keys = f.stack.pop()
    f.stack.append(dict(zip(keys, ops.pop_many(f.stack, arg), strict=True)))


@_op("BUILD_STRING")
def _build_string(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(ops.join_strings(ops.pop_many(f.stack, arg)))


@_op("FORMAT_VALUE")
def _format_value(m: Machine, f: Frame, arg: int, i: Any) -> None:
    spec = f.stack.pop() if arg & 4 else ""
    conversion = ("", "s", "r", "a")[arg & 3]
    f.stack.append(ops.format_value(m, f.stack.pop(), conversion, spec))


@_op("BUILD_SLICE")
def _build_slice(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(slice(*ops.pop_many(f.stack, arg)))


@_op("LIST_TO_TUPLE")
def _list_to_tuple(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(tuple(f.stack.pop()))


@_op("LIST_APPEND")
def _list_append(m: Machine, f: Frame, arg: int, i: Any) -> None:
    value = f.stack.pop()
    ops.list_append(m, f.stack[-arg], value)


@_op("SET_ADD")
def _set_add(m: Machine, f: Frame, arg: int, i: Any) -> None:
    value = f.stack.pop()
    f.stack[-arg].add(value)


@_op("MAP_ADD")
def _map_add(m: Machine, f: Frame, arg: int, i: Any) -> None:
    value, key = f.stack.pop(), f.stack.pop()
    f.stack[-arg][key] = value


def _with_list(m: Machine, f: Frame, use: Any) -> None:
    """Pops an iterable and uses it as a list; one that the machine itself must run becomes a list first."""
    iterable = f.stack[-1]
    if ops.needs_machine(iterable):
        f.stack.pop()
        f.pc = f.current
        m.call(m.calls.polyfills.list_, (iterable,), {})
        return
    f.stack.pop()
    use(iterable)


@_op("LIST_EXTEND")
def _list_extend(m: Machine, f: Frame, arg: int, i: Any) -> None:
    def use(items: Any) -> None:
        if isinstance(items, HostList) and not isinstance(f.stack[-arg], HostList):  # of a display: nobody knows it yet
            f.stack[-arg] = m.calls.lists.from_static(f.stack[-arg], items.template, items.origins)
        ops.list_extend(m, f.stack[-arg], items)

    _with_list(m, f, use)


@_op("SET_UPDATE")
def _set_update(m: Machine, f: Frame, arg: int, i: Any) -> None:
    _with_list(m, f, lambda items: f.stack[-arg].update(items))


@_op("DICT_UPDATE")
def _dict_update(m: Machine, f: Frame, arg: int, i: Any) -> None:
    update = f.stack.pop()
    f.stack[-arg].update(update)


@_op("DICT_MERGE")
def _dict_merge(m: Machine, f: Frame, arg: int, i: Any) -> None:
    update = f.stack.pop()
    target = f.stack[-arg]
    repeated = next((k for k in update if k in target), None)
    if repeated is not None:
        raise TypeError(f"got multiple values for keyword argument '{repeated}'")
    target.update(update)


@_op("UNPACK_SEQUENCE")
def _unpack_sequence(m: Machine, f: Frame, arg: int, i: Any) -> None:
    def use(items: Any) -> None:
        values = ops.unpack(m, items, arg)
        f.stack.extend(reversed(values))

    _with_list(m, f, use)


@_op("UNPACK_EX")
def _unpack_ex(m: Machine, f: Frame, arg: int, i: Any) -> None:
    before, after = arg & 0xFF, arg >> 8

    def use(items: Any) -> None:
        values = list(ops.iterate_static(m, items))
        if len(values) < before + after:
            raise ValueError(f"not enough values to unpack (expected at least {before + after}, got {len(values)})")
        tail = values[len(values) - after :] if after else []
        row = [*values[:before], values[before : len(values) - after], *tail]
        f.stack.extend(reversed(row))

    _with_list(m, f, use)


# ---- jumps


@_op("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def _jump(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.pc = i.target


@_op("POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE")
def _pop_jump_if_false(m: Machine, f: Frame, arg: int, i: Any) -> None:
    tested = _tested(m, f)
    if tested is not _WAITS:
        truth = m.branch(f, tested)
        f.stack.pop()
        f.pc = f.pc if truth else i.target


@_op("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE")
def _pop_jump_if_true(m: Machine, f: Frame, arg: int, i: Any) -> None:
    tested = _tested(m, f)
    if tested is not _WAITS:
        truth = m.branch(f, tested)
        f.stack.pop()
        f.pc = i.target if truth else f.pc


def _jump_or_pop(m: Machine, f: Frame, i: Any, jumps_if: bool) -> None:
    tested = _tested(m, f)
    if tested is _WAITS:
        return
    jumps = m.branch(f, tested) is jumps_if
    owner = f.stack.pop()
    if jumps:
        f.stack.append(owner.owner if type(owner) is protocols.Tested else owner)
        f.pc = i.target


@_op("JUMP_IF_FALSE_OR_POP")
def _jump_if_false_or_pop(m: Machine, f: Frame, arg: int, i: Any) -> None:
    _jump_or_pop(m, f, i, False)


@_op("JUMP_IF_TRUE_OR_POP")
def _jump_if_true_or_pop(m: Machine, f: Frame, arg: int, i: Any) -> None:
    _jump_or_pop(m, f, i, True)


@_op("POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE")
def _pop_jump_if_none(m: Machine, f: Frame, arg: int, i: Any) -> None:
    is_none = m.branch(f, ops.is_(m, f.stack[-1], None))
    f.stack.pop()
    f.pc = i.target if is_none else f.pc


@_op("POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE")
def _pop_jump_if_not_none(m: Machine, f: Frame, arg: int, i: Any) -> None:
    is_none = m.branch(f, ops.is_(m, f.stack[-1], None))
    f.stack.pop()
    f.pc = f.pc if is_none else i.target


# ---- iteration


@_op("GET_ITER")
def _get_iter(m: Machine, f: Frame, arg: int, i: Any) -> None:
    iterable = f.stack.pop()
    method = m.calls.special_method(iterable, "__iter__")
    if method is not None:
        m.call(method, (iterable,), {}, ("getiter",))
    else:
        m.deliver(("getiter",), iterable)


@_op("GET_YIELD_FROM_ITER")
def _get_yield_from_iter(m: Machine, f: Frame, arg: int, i: Any) -> None:
    if not isinstance(f.stack[-1], VMGenerator):
        f.stack.append(ops.get_iter(m, f.stack.pop()))


@_op("FOR_ITER")
def _for_iter(m: Machine, f: Frame, arg: int, i: Any) -> None:
    iterator = f.stack[-1]
    if isinstance(iterator, VMGenerator):
        m.resume(iterator, None, ("for", i.target))
        return
    if isinstance(iterator, IndexIter):
        if m.branch(f, ops.has_next(iterator)):
            f.stack.append(ops.take_next(m, iterator))
        else:
            f.stack.pop()
            f.pc = i.target
        return
    try:
        f.stack.append(ops.box(m.recorder, next(iterator)))
    except StopIteration:
        f.stack.pop()
        f.pc = i.target


@_op("SEND")
def _send(m: Machine, f: Frame, arg: int, i: Any) -> None:
    value = f.stack.pop()
    receiver = f.stack[-1]
    if isinstance(receiver, VMGenerator):
        m.resume(receiver, value, ("send", i.target))
        return
    if isinstance(receiver, IndexIter):
        if ops.decide(m, ops.has_next(receiver)):
            f.stack.append(ops.take_next(m, receiver))
        else:
            f.stack[-1] = None
            f.pc = i.target
        return
    raise Unsupported("TC151", "yield from an iterator that the machine cannot see into")


@_op("RETURN_GENERATOR")
def _return_generator(m: Machine, f: Frame, arg: int, i: Any) -> None:
    m.frames.pop()
    generator = VMGenerator(f)
    mode = f.mode
    f.generator = generator
    m.deliver(mode, generator)


@_op("YIELD_VALUE")
def _yield_value(m: Machine, f: Frame, arg: int, i: Any) -> None:
    m.yield_(f.stack.pop())


# ---- calls


@_op("KW_NAMES")
def _kw_names(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.kw_names = f.info.code.co_consts[arg]


@_op("CALL")
def _call(m: Machine, f: Frame, arg: int, i: Any) -> None:
    names, f.kw_names = f.kw_names, ()
    values = ops.pop_many(f.stack, arg)
    second, first = f.stack.pop(), f.stack.pop()
    function, leading = (second, ()) if first is NULL else (first, (second,))
    split = len(values) - len(names)
    m.call(function, (*leading, *values[:split]), dict(zip(names, values[split:], strict=True)))


@_op("CALL_FUNCTION_EX")
def _call_function_ex(m: Machine, f: Frame, arg: int, i: Any) -> None:
    at = -2 if arg & 1 else -1
    if ops.needs_machine(f.stack[at]):
        iterable = f.stack[at]
        f.stack[at] = ()
        raise Unsupported(
            "TC152", f"unpacking {type(iterable).__name__} into the arguments of a call", "make it a list first"
        )
    kwargs = dict(f.stack.pop()) if arg & 1 else {}
    args = tuple(ops.iterate_static(m, f.stack.pop()))
    function = f.stack.pop()
    f.stack.pop()  # NULL
    m.call(function, args, kwargs)


@_op("MAKE_FUNCTION")
def _make_function(m: Machine, f: Frame, arg: int, i: Any) -> None:
    code = f.stack.pop()
    closure = f.stack.pop() if arg & 8 else None
    annotations = f.stack.pop() if arg & 4 else None
    kwdefaults = f.stack.pop() if arg & 2 else None
    defaults = f.stack.pop() if arg & 1 else None
    function = FunctionType(code, f.function.__globals__, code.co_name, defaults, closure)
    function.__kwdefaults__ = kwdefaults
    function.__qualname__ = code.co_qualname
    if annotations:
        function.__annotations__ = dict(zip(annotations[::2], annotations[1::2], strict=True))
    f.stack.append(function)


@_op("LOAD_BUILD_CLASS")
def _load_build_class(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(__build_class__)


@_op("RETURN_VALUE")
def _return_value(m: Machine, f: Frame, arg: int, i: Any) -> None:
    m.return_(f.stack.pop())


@_op("IMPORT_NAME")
def _import_name(m: Machine, f: Frame, arg: int, i: Any) -> None:
    names, level = f.stack.pop(), f.stack.pop()
    f.stack.append(__import__(i.argval, f.function.__globals__, None, names, level))


@_op("IMPORT_FROM")
def _import_from(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(getattr(f.stack[-1], i.argval))


# ---- exceptions and context managers


@_op("LOAD_ASSERTION_ERROR")
def _load_assertion_error(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(AssertionError)


@_op("RAISE_VARARGS")
def _raise_varargs(m: Machine, f: Frame, arg: int, i: Any) -> None:
    if arg == 0:
        handled = next((g.handled for g in reversed(m.frames) if g.handled is not None), None)
        raise RuntimeError("No active exception to reraise") if handled is None else handled
    cause = f.stack.pop() if arg == 2 else None
    exception = f.stack.pop()
    if isinstance(exception, type):
        exception = exception()
    if not isinstance(exception, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    if arg == 2:
        exception.__cause__ = cause() if isinstance(cause, type) else cause
    exception.__traceback__ = None
    m.raise_(exception)


@_op("RERAISE")
def _reraise(m: Machine, f: Frame, arg: int, i: Any) -> None:
    m.raise_(f.stack.pop())


@_op("PUSH_EXC_INFO")
def _push_exc_info(m: Machine, f: Frame, arg: int, i: Any) -> None:
    exception = f.stack.pop()
    f.stack.append(f.handled)
    f.stack.append(exception)
    f.handled = exception


@_op("POP_EXCEPT")
def _pop_except(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.handled = f.stack.pop()


@_op("CHECK_EXC_MATCH")
def _check_exc_match(m: Machine, f: Frame, arg: int, i: Any) -> None:
    kind = f.stack.pop()
    f.stack.append(isinstance(f.stack[-1], kind))


@_op("BEFORE_WITH")
def _before_with(m: Machine, f: Frame, arg: int, i: Any) -> None:
    manager = f.stack.pop()
    enter, leave = ops.context_methods(manager)
    f.stack.append(leave)
    m.call(enter, (), {})


@_op("WITH_EXCEPT_START")
def _with_except_start(m: Machine, f: Frame, arg: int, i: Any) -> None:
    exception = f.stack[-1]
    m.call(f.stack[-4], (type(exception), exception, None), {})


__all__ = ["Driver", "Finished", "HostList", "Machine"]
