"""Instructions that compute: variables, attributes and items, operators, containers."""

from __future__ import annotations

import operator
from types import CellType
from typing import TYPE_CHECKING, Any

from toolchain.frontend.machine import formatting, polyfills, protocols
from toolchain.frontend.machine import operations as ops
from toolchain.frontend.machine.frame import NULL, Frame
from toolchain.frontend.machine.handlers import table
from toolchain.frontend.staged import HostList

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine

HANDLERS, handles = table()

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


@handles("NOP", "RESUME", "PRECALL", "EXTENDED_ARG", "CACHE", "MAKE_NOTHING", "ASYNC_GEN_WRAP")
def _nop(m: Machine, f: Frame, arg: int, i: Any) -> None:
    pass


@handles("POP_TOP")
def _pop_top(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.pop()


@handles("PUSH_NULL")
def _push_null(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(NULL)


@handles("COPY")
def _copy(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(f.stack[-arg])


@handles("SWAP")
def _swap(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack[-1], f.stack[-arg] = f.stack[-arg], f.stack[-1]


# ---- variables


@handles("LOAD_CONST")
def _load_const(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(i.argval)


@handles("LOAD_FAST")
def _load_fast(m: Machine, f: Frame, arg: int, i: Any) -> None:
    value = f.locals[arg]
    if value is NULL:
        raise UnboundLocalError(f"cannot access local variable '{i.argval}' where it is not associated with a value")
    f.stack.append(value)


@handles("STORE_FAST")
def _store_fast(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.locals[arg] = f.stack.pop()


@handles("DELETE_FAST")
def _delete_fast(m: Machine, f: Frame, arg: int, i: Any) -> None:
    if f.locals[arg] is NULL:
        raise UnboundLocalError(f"cannot access local variable '{i.argval}' where it is not associated with a value")
    f.locals[arg] = NULL


@handles("MAKE_CELL")
def _make_cell(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.locals[arg] = CellType() if f.locals[arg] is NULL else CellType(f.locals[arg])


@handles("COPY_FREE_VARS")
def _copy_free_vars(m: Machine, f: Frame, arg: int, i: Any) -> None:
    closure = f.function.__closure__ or ()
    f.locals[f.info.locals_count - len(closure) :] = list(closure)


@handles("LOAD_CLOSURE")
def _load_closure(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(f.locals[arg])


@handles("LOAD_DEREF")
def _load_deref(m: Machine, f: Frame, arg: int, i: Any) -> None:
    try:
        f.stack.append(f.locals[arg].cell_contents)
    except ValueError:
        raise NameError(
            f"cannot access free variable '{i.argval}' where it is not associated with a value in enclosing scope"
        ) from None


@handles("STORE_DEREF")
def _store_deref(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.locals[arg].cell_contents = f.stack.pop()


@handles("DELETE_DEREF")
def _delete_deref(m: Machine, f: Frame, arg: int, i: Any) -> None:
    del f.locals[arg].cell_contents


@handles("LOAD_GLOBAL")
def _load_global(m: Machine, f: Frame, arg: int, i: Any) -> None:
    if arg & 1:
        f.stack.append(NULL)
    f.stack.append(ops.load_global(f.function, i.argval))


@handles("LOAD_NAME")
def _load_name(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(ops.load_global(f.function, i.argval))


@handles("STORE_GLOBAL", "STORE_NAME")
def _store_global(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.function.__globals__[i.argval] = f.stack.pop()


@handles("DELETE_GLOBAL")
def _delete_global(m: Machine, f: Frame, arg: int, i: Any) -> None:
    del f.function.__globals__[i.argval]


# ---- attributes, items


@handles("LOAD_ATTR")
def _load_attr(m: Machine, f: Frame, arg: int, i: Any) -> None:
    getter = ops.property_getter(f.stack[-1], i.argval)
    owner = f.stack.pop()
    if getter is not None:
        m.call(getter, (owner,), {})
    else:
        f.stack.append(ops.load_attr(m, owner, i.argval))


@handles("LOAD_METHOD")
def _load_method(m: Machine, f: Frame, arg: int, i: Any) -> None:
    owner = f.stack.pop()
    f.stack.append(NULL)
    f.stack.append(ops.load_attr(m, owner, i.argval))


@handles("STORE_ATTR")
def _store_attr(m: Machine, f: Frame, arg: int, i: Any) -> None:
    owner, value = f.stack.pop(), f.stack.pop()
    setter = protocols.setter(m, owner, i.argval, value)
    if setter is None:
        ops.store_attr(owner, i.argval, value)
    else:
        m.call(*setter, {}, ("discard",))


@handles("DELETE_ATTR")
def _delete_attr(m: Machine, f: Frame, arg: int, i: Any) -> None:
    delattr(f.stack.pop(), i.argval)


@handles("BINARY_SUBSCR")
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


@handles("STORE_SUBSCR")
def _store_subscr(m: Machine, f: Frame, arg: int, i: Any) -> None:
    key, container, value = f.stack[-1], f.stack[-2], f.stack[-3]
    method = m.calls.special_method(container, "__setitem__")
    if method is not None:
        del f.stack[-3:]
        m.call(method, (container, key, value), {}, ("discard",))
        return
    del f.stack[-3:]
    ops.set_item(m, container, key, value)


@handles("DELETE_SUBSCR")
def _delete_subscr(m: Machine, f: Frame, arg: int, i: Any) -> None:
    key, container = f.stack.pop(), f.stack.pop()
    del container[key]


# ---- operators


def _unary(m: Machine, f: Frame, name: str, function: Any) -> None:
    operand = f.stack.pop()
    method = m.calls.special_method(operand, name)
    if method is not None:
        m.call(method, (operand,), {})
    else:
        f.stack.append(ops.unary(m, function, operand))


@handles("UNARY_NOT")
def _unary_not(m: Machine, f: Frame, arg: int, i: Any) -> None:
    tested = protocols.tested(m, f)
    if tested is not protocols.WAITS:
        f.stack[-1] = ops.not_(tested)


@handles("UNARY_NEGATIVE")
def _unary_negative(m: Machine, f: Frame, arg: int, i: Any) -> None:
    _unary(m, f, "__neg__", operator.neg)


@handles("UNARY_POSITIVE")
def _unary_positive(m: Machine, f: Frame, arg: int, i: Any) -> None:
    _unary(m, f, "__pos__", operator.pos)


@handles("UNARY_INVERT")
def _unary_invert(m: Machine, f: Frame, arg: int, i: Any) -> None:
    _unary(m, f, "__invert__", operator.invert)


@handles("BINARY_OP")
def _binary_op(m: Machine, f: Frame, arg: int, i: Any) -> None:
    right, left = f.stack.pop(), f.stack.pop()
    if _SYMBOLS[arg] == "+=" and _grows_by_element(m, left, right):
        m.call(polyfills.extended_, (left, right), {})
        return
    if protocols.is_user_object(left) or protocols.is_user_object(right):
        if not protocols.call_operator(m, _SYMBOLS[arg], left, right):
            f.stack.append(ops.binary(m, _BINARY_BY_NUMBER[arg], left, right))
        return
    f.stack.append(ops.binary(m, _BINARY_BY_NUMBER[arg], left, right))


def _grows_by_element(m: Machine, items: Any, more: Any) -> bool:
    """Whether ``items += more`` must be a loop. A plain list becomes one of unknown length where paths meet: there, all
    who know it see what it has become."""
    if isinstance(items, list) and isinstance(more, HostList):
        return m.driver.is_reachable(items)
    return isinstance(items, (list, HostList)) and ops.needs_machine(more)


@handles("COMPARE_OP")
def _compare_op(m: Machine, f: Frame, arg: int, i: Any) -> None:
    right, left = f.stack.pop(), f.stack.pop()
    user = protocols.is_user_object(left) or protocols.is_user_object(right)
    if not (user and protocols.call_operator(m, i.argval, left, right)):
        f.stack.append(ops.binary(m, _COMPARE[i.argval], left, right))


@handles("IS_OP")
def _is_op(m: Machine, f: Frame, arg: int, i: Any) -> None:
    right, left = f.stack.pop(), f.stack.pop()
    same = ops.is_(m, left, right)
    f.stack.append(ops.not_(same) if arg else same)


@handles("CONTAINS_OP")
def _contains_op(m: Machine, f: Frame, arg: int, i: Any) -> None:
    container, item = f.stack.pop(), f.stack.pop()
    if protocols.call_contains(m, container, item, bool(arg)):
        return
    inside = ops.contains(m, container, item)
    f.stack.append(ops.not_(inside) if arg else inside)


@handles("GET_LEN")
def _get_len(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(len(f.stack[-1]))


# ---- building


@handles("BUILD_TUPLE")
def _build_tuple(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(tuple(ops.pop_many(f.stack, arg)))


@handles("BUILD_LIST")
def _build_list(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(ops.pop_many(f.stack, arg))


@handles("BUILD_SET")
def _build_set(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(set(ops.pop_many(f.stack, arg)))


@handles("BUILD_MAP")
def _build_map(m: Machine, f: Frame, arg: int, i: Any) -> None:
    flat = ops.pop_many(f.stack, 2 * arg)
    f.stack.append(dict(zip(flat[::2], flat[1::2], strict=True)))


@handles("BUILD_CONST_KEY_MAP")
def _build_const_key_map(m: Machine, f: Frame, arg: int, i: Any) -> None:
    keys = f.stack.pop()
    f.stack.append(dict(zip(keys, ops.pop_many(f.stack, arg), strict=True)))


@handles("BUILD_STRING")
def _build_string(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(formatting.join_strings(ops.pop_many(f.stack, arg)))


@handles("FORMAT_VALUE")
def _format_value(m: Machine, f: Frame, arg: int, i: Any) -> None:
    spec = f.stack.pop() if arg & 4 else ""
    conversion = ("", "s", "r", "a")[arg & 3]
    f.stack.append(formatting.format_value(m, f.stack.pop(), conversion, spec))


@handles("BUILD_SLICE")
def _build_slice(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(slice(*ops.pop_many(f.stack, arg)))


@handles("LIST_TO_TUPLE")
def _list_to_tuple(m: Machine, f: Frame, arg: int, i: Any) -> None:
    f.stack.append(tuple(f.stack.pop()))


@handles("LIST_APPEND")
def _list_append(m: Machine, f: Frame, arg: int, i: Any) -> None:
    value = f.stack.pop()
    ops.list_append(m, f.stack[-arg], value)


@handles("SET_ADD")
def _set_add(m: Machine, f: Frame, arg: int, i: Any) -> None:
    value = f.stack.pop()
    f.stack[-arg].add(value)


@handles("MAP_ADD")
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


@handles("LIST_EXTEND")
def _list_extend(m: Machine, f: Frame, arg: int, i: Any) -> None:
    def use(items: Any) -> None:
        if isinstance(items, HostList) and not isinstance(f.stack[-arg], HostList):  # of a display: nobody knows it yet
            f.stack[-arg] = m.calls.lists.from_static(f.stack[-arg], items.template, items.origins)
        ops.list_extend(m, f.stack[-arg], items)

    _with_list(m, f, use)


@handles("SET_UPDATE")
def _set_update(m: Machine, f: Frame, arg: int, i: Any) -> None:
    _with_list(m, f, lambda items: f.stack[-arg].update(items))


@handles("DICT_UPDATE")
def _dict_update(m: Machine, f: Frame, arg: int, i: Any) -> None:
    update = f.stack.pop()
    f.stack[-arg].update(update)


@handles("DICT_MERGE")
def _dict_merge(m: Machine, f: Frame, arg: int, i: Any) -> None:
    update = f.stack.pop()
    target = f.stack[-arg]
    repeated = next((k for k in update if k in target), None)
    if repeated is not None:
        raise TypeError(f"got multiple values for keyword argument '{repeated}'")
    target.update(update)


@handles("UNPACK_SEQUENCE")
def _unpack_sequence(m: Machine, f: Frame, arg: int, i: Any) -> None:
    def use(items: Any) -> None:
        values = ops.unpack(m, items, arg)
        f.stack.extend(reversed(values))

    _with_list(m, f, use)


@handles("UNPACK_EX")
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
