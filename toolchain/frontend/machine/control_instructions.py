"""Instructions that lead on: jumps, iteration, calls, exceptions and context managers."""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from toolchain.frontend.machine import border, polyfills, protocols
from toolchain.frontend.machine import operations as ops
from toolchain.frontend.machine.frame import NULL, Frame, IndexIter, VMGenerator
from toolchain.frontend.machine.handlers import table
from toolchain.frontend.signals import Unsupported

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine

HANDLERS, handles = table()


# ---- jumps


@handles("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def _jump(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.pc = i.target


@handles("POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_FALSE")
def _pop_jump_if_false(m: Machine, f: Frame, arg: int, i: Any) -> None:
    tested = protocols.tested(m, f)
    if tested is not protocols.WAITS:
        truth = m.branch(f, tested)
        f.stack.pop()
        f.pc = f.pc if truth else i.target


@handles("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_TRUE")
def _pop_jump_if_true(m: Machine, f: Frame, arg: int, i: Any) -> None:
    tested = protocols.tested(m, f)
    if tested is not protocols.WAITS:
        truth = m.branch(f, tested)
        f.stack.pop()
        f.pc = i.target if truth else f.pc


def _jump_or_pop(m: Machine, f: Frame, i: Any, jumps_if: bool) -> None:
    tested = protocols.tested(m, f)
    if tested is protocols.WAITS:
        return
    jumps = m.branch(f, tested) is jumps_if
    owner = f.stack.pop()
    if jumps:
        f.stack.append(owner.owner if type(owner) is protocols.Tested else owner)
        f.pc = i.target


@handles("JUMP_IF_FALSE_OR_POP")
def _jump_if_false_or_pop(m: Machine, f: Frame, arg: int, i: Any) -> None:
    _jump_or_pop(m, f, i, False)


@handles("JUMP_IF_TRUE_OR_POP")
def _jump_if_true_or_pop(m: Machine, f: Frame, arg: int, i: Any) -> None:
    _jump_or_pop(m, f, i, True)


@handles("POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NONE")
def _pop_jump_if_none(m: Machine, f: Frame, arg: int, i: Any) -> None:
    is_none = m.branch(f, ops.is_(m, f.stack[-1], None))
    f.stack.pop()
    f.pc = i.target if is_none else f.pc


@handles("POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE")
def _pop_jump_if_not_none(m: Machine, f: Frame, arg: int, i: Any) -> None:
    is_none = m.branch(f, ops.is_(m, f.stack[-1], None))
    f.stack.pop()
    f.pc = f.pc if is_none else i.target


# ---- iteration


@handles("GET_ITER")
def _get_iter(m: Machine, f: Frame, arg: int, i: Any) -> None:
    iterable = f.stack.pop()
    method = m.calls.special_method(iterable, "__iter__")
    if method is not None:
        m.call(method, (iterable,), {}, ("getiter",))
    else:
        m.deliver(("getiter",), iterable)


@handles("GET_YIELD_FROM_ITER")
def _get_yield_from_iter(m: Machine, f: Frame, arg: int, i: Any) -> None:
    if not isinstance(f.stack[-1], VMGenerator):
        f.stack.append(ops.get_iter(m, f.stack.pop()))


@handles("FOR_ITER")
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
        f.stack.append(border.box(m.recorder, next(iterator)))
    except StopIteration:
        f.stack.pop()
        f.pc = i.target


@handles("SEND")
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


@handles("RETURN_GENERATOR")
def _return_generator(m: Machine, f: Frame, arg: int, i: Any) -> None:
    m.frames.pop()
    generator = VMGenerator(f)
    mode = f.mode
    f.generator = generator
    m.deliver(mode, generator)


@handles("YIELD_VALUE")
def _yield_value(m: Machine, f: Frame, arg: int, i: Any) -> None:
    m.yield_(f.stack.pop())


# ---- calls


@handles("KW_NAMES")
def _kw_names(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.kw_names = f.info.code.co_consts[arg]


@handles("CALL")
def _call(m: Machine, f: Frame, arg: int, i: Any) -> None:
    names, f.kw_names = f.kw_names, ()
    values = ops.pop_many(f.stack, arg)
    second, first = f.stack.pop(), f.stack.pop()
    function, leading = (second, ()) if first is NULL else (first, (second,))
    split = len(values) - len(names)
    m.call(function, (*leading, *values[:split]), dict(zip(names, values[split:], strict=True)))


@handles("CALL_FUNCTION_EX")
def _call_function_ex(m: Machine, f: Frame, arg: int, i: Any) -> None:
    kwargs = dict(f.stack.pop()) if arg & 1 else {}
    iterable = f.stack.pop()
    function = f.stack.pop()
    f.stack.pop()  # NULL
    if ops.needs_machine(iterable):
        m.call(polyfills.unpacked, (function, iterable, kwargs), {})
    else:
        m.call(function, tuple(ops.iterate_static(m, iterable)), kwargs)


@handles("MAKE_FUNCTION")
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


@handles("LOAD_BUILD_CLASS")
def _load_build_class(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(__build_class__)


@handles("RETURN_VALUE")
def _return_value(m: Machine, f: Frame, arg: int, i: Any) -> None:
    m.return_(f.stack.pop())


@handles("IMPORT_NAME")
def _import_name(m: Machine, f: Frame, arg: int, i: Any) -> None:
    names, level = f.stack.pop(), f.stack.pop()
    f.stack.append(__import__(i.argval, f.function.__globals__, None, names, level))


@handles("IMPORT_FROM")
def _import_from(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(getattr(f.stack[-1], i.argval))


# ---- exceptions and context managers


@handles("LOAD_ASSERTION_ERROR")
def _load_assertion_error(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(AssertionError)


@handles("RAISE_VARARGS")
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


@handles("RERAISE")
def _reraise(m: Machine, f: Frame, arg: int, i: Any) -> None:
    m.raise_(f.stack.pop())


@handles("PUSH_EXC_INFO")
def _push_exc_info(m: Machine, f: Frame, arg: int, i: Any) -> None:
    exception = f.stack.pop()
    f.stack.append(f.handled)
    f.stack.append(exception)
    f.handled = exception


@handles("POP_EXCEPT")
def _pop_except(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.handled = f.stack.pop()


@handles("CHECK_EXC_MATCH")
def _check_exc_match(m: Machine, f: Frame, arg: int, i: Any) -> None:
    kind = f.stack.pop()
    f.stack.append(isinstance(f.stack[-1], kind))


@handles("BEFORE_WITH")
def _before_with(m: Machine, f: Frame, arg: int, i: Any) -> None:
    manager = f.stack.pop()
    enter, leave = ops.context_methods(manager)
    f.stack.append(leave)
    m.call(enter, (), {})


@handles("WITH_EXCEPT_START")
def _with_except_start(m: Machine, f: Frame, arg: int, i: Any) -> None:
    exception = f.stack[-1]
    m.call(f.stack[-4], (type(exception), exception, None), {})
