"""Builtins and functions of the standard library that mean something else when their arguments are staged.

A handler takes (machine, args, kwargs, mode) and returns the result, or PUSHED after it has pushed a frame.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
import os
import random
import secrets
import time
import uuid
import warnings
from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend.context import Staged, scalar_type
from toolchain.frontend.machine import (
    border,
    formatting,
    iteration_polyfills,
    operations,
    polyfills,
    recurrent_polyfills,
    searching,
)
from toolchain.frontend.machine.arrays import array_type
from toolchain.frontend.machine.frame import IndexIter, StagedRange, VMGenerator
from toolchain.frontend.math_functions import MATH_FUNCTIONS, math_call
from toolchain.frontend.numbers import (
    StagedBool,
    StagedFloat,
    StagedInt,
    StagedNumber,
    minimum,
    round_number,
    to_float,
    to_int,
)
from toolchain.frontend.signals import Unsupported
from toolchain.frontend.staged import Array, HostList, StagedObject, StagedStr, context_length, operand_of

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine

_PYTHON_TYPES: dict[type, type] = {
    StagedInt: int, StagedFloat: float, StagedBool: bool, StagedStr: str, HostList: list, StagedRange: range
}  # fmt: skip


def _number(machine: Machine, value: Any) -> Any:
    if isinstance(value, Array):
        return machine.calls.arrays.read(value)
    if isinstance(value, StagedObject):
        raise Unsupported("TC120", "a value of the host where a number is needed", "convert it with int() or float()")
    return machine.recorder.read(value) if isinstance(value, torch.Tensor) else value


def _int(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], StagedObject):
        return m.calls.objects.to_int(args[0])
    if len(args) == 1 and isinstance(args[0], (Staged, torch.Tensor, Array)):
        value = _number(m, args[0])
        if isinstance(value, StagedStr):
            return int(value.constant("int()"))
        return to_int(value)
    return int(*args, **kwargs)


def _float(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], StagedObject):
        return m.calls.objects.to_float(args[0])
    if len(args) == 1 and isinstance(args[0], (Staged, torch.Tensor, Array)):
        return to_float(_number(m, args[0]))
    return float(*args)


def _bool(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    from toolchain.frontend.machine import protocols

    if args and protocols.truth_method(m, args[0]) is not None:
        return m.calls.call(polyfills.truth_, args, kwargs, mode)
    return m.truth(args[0]) if args else False


def length(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    (value,) = args
    if isinstance(value, HostList):
        return context_length(value)
    if isinstance(value, StagedRange):
        return value.length
    if isinstance(value, StagedObject):
        return m.calls.objects.length(value)
    if isinstance(value, Array):
        if not value.tensor.dim():
            raise TypeError("len() of unsized object")
        return border.box(m.recorder, value.tensor.shape[0])
    if isinstance(value, torch.Tensor):
        if value.dim() == 0:
            raise TypeError("len() of a 0-d tensor")
        return border.box(m.recorder, value.shape[0])
    method = m.calls.special_method(value, "__len__")
    return m.calls.call(method, (value,), {}, mode) if method is not None else len(value)


def _range(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    values = [_number(m, a) for a in args]
    if not any(isinstance(v, Staged) for v in values):
        return range(*values)
    start, stop, step = (0, values[0], 1) if len(values) == 1 else (*values, 1)[:3]
    return StagedRange(start, stop, step)


def python_type(value: Any) -> type:
    from types import GeneratorType

    if isinstance(value, Array):
        return array_type(value)
    if isinstance(value, StagedObject):
        raise Unsupported("TC120", "the type of a value of the host cannot be staged")
    if isinstance(value, VMGenerator):
        return GeneratorType
    if type(value) is border.StagedSize:
        return torch.Size
    return _PYTHON_TYPES.get(type(value), type(value))


def _isinstance(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    value, kinds = args
    if type(value) in _PYTHON_TYPES or isinstance(value, (VMGenerator, border.StagedSize, Array, StagedObject)):
        flat = kinds if isinstance(kinds, tuple) else (kinds,)
        return any(issubclass(python_type(value), k) for k in flat if isinstance(k, type))
    return isinstance(value, kinds)


def _type(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return python_type(args[0]) if len(args) == 1 else type(*args, **kwargs)


def _abs(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return operations.unary(m, abs, args[0])


def _round(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    value = args[0]
    if isinstance(value, StagedNumber):
        return round_number(value, *args[1:]) if len(args) > 1 else round_number(value, None)
    return round(*args, **kwargs)


def _plain_numbers(values: Any) -> bool:
    return all(isinstance(v, (int, float, StagedNumber)) and not isinstance(v, bool) for v in values)


def _extreme(opcode: str, polyfill: Any) -> Any:
    def handle(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
        values = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        if not kwargs and len(values) > 1 and _plain_numbers(values) and any(isinstance(v, Staged) for v in values):
            if len({scalar_type(v) for v in values}) == 1:
                return functools.reduce(lambda a, b: minimum(opcode, a, b) if a is not b else a, values)
        elif (
            not border.has_staged(args) and not any(isinstance(v, torch.Tensor) for v in values) and "key" not in kwargs
        ):
            return getattr(builtins, opcode)(*args, **kwargs)
        return m.calls.call(polyfill, args, kwargs, mode)

    return handle


def _polyfilled(native: Any, polyfill: Any, always: bool = False) -> Any:
    """The builtin itself where nothing is staged, its Python form otherwise."""

    def handle(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
        plain = not any(border.has_staged(a) or has_tensors(a) for a in args) and not any(
            callable(v) for v in kwargs.values()
        )
        if always or not plain:
            return m.calls.call(polyfill, args, kwargs, mode)
        return native(*args, **kwargs)

    return handle


def has_tensors(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return True
    return isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value)


def _collect(native: Any, polyfill: Any) -> Any:
    """list(), tuple(), set(), dict(): natively unless the iterable has to be run by the machine."""

    def handle(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], HostList) and native is list:
            return HostList(args[0].operand, args[0].template, args[0].origins)
        if len(args) == 1 and isinstance(args[0], (IndexIter,)) and not operations.needs_machine(args[0]):
            return native(operations.iterate_static(m, args[0]))
        if len(args) == 1 and isinstance(args[0], HostList):
            m.recorder.need_constant(args[0].origins, f"{native.__name__}() of a list of unknown length")
        if len(args) == 1 and operations.needs_machine(args[0]):
            return m.calls.call(polyfill, args, kwargs, mode)
        if len(args) == 1 and m.calls.special_method(args[0], "__iter__") is not None and native is not dict:
            return m.calls.call(polyfill, args, kwargs, mode)
        return native(*args, **kwargs)

    return handle


_OPERATORS = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift", "lt",
    "le", "eq", "ne", "gt", "ge",
]  # fmt: skip
_ITERTOOLS = [
    "count", "cycle", "chain", "repeat", "islice", "accumulate", "takewhile", "dropwhile", "filterfalse", "starmap",
    "compress", "pairwise", "zip_longest",
]  # fmt: skip
_COMBINATORICS = ("product", "permutations", "combinations", "combinations_with_replacement")


def _operator(function: Any) -> Any:
    """A function of the operator module."""

    def handle(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
        return operations.binary(m, function, *args)

    return handle


def _listed(native: Any) -> Any:
    """An iterator of native code over arguments that do not change: its elements at once, so its position shows."""

    def handle(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
        static = [operations.iterate_static(m, a) if not isinstance(a, int) else a for a in args]
        return IndexIter(tuple(native(*static, **kwargs)))

    return handle


def _iter(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if len(args) == 2:
        return m.calls.call(polyfills.iterate_until, args, {}, mode)
    method = m.calls.special_method(args[0], "__iter__")
    if method is not None:
        return m.calls.call(method, args, {}, ("getiter",))
    polyfill = operations.iteration_of(m, args[0])
    return operations.get_iter(m, args[0]) if polyfill is None else m.calls.call(polyfill, args, {}, mode)


def _next(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    from toolchain.frontend.machine.calls import PUSHED

    iterator = args[0]
    if isinstance(iterator, VMGenerator):
        m.resume(iterator, None, ("next", len(args) > 1, args[1] if len(args) > 1 else None))
        return PUSHED
    if isinstance(iterator, IndexIter):
        if operations.decide(m, operations.has_next(iterator)):
            return operations.take_next(m, iterator)
        if len(args) > 1:
            return args[1]
        raise StopIteration
    method = m.calls.special_method(iterator, "__next__")
    if method is not None and len(args) == 1:
        return m.calls.call(method, args, {}, mode)
    raise Unsupported(
        "TC153", f"next() of a {type(iterator).__name__}, which native code advances", "write a generator"
    )


def _reversed(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    (value,) = args
    if isinstance(value, (list, tuple, str)) or (isinstance(value, range) and not border.has_staged(value)):
        return IndexIter(value[::-1])
    if isinstance(value, torch.nn.Module):
        return IndexIter(tuple(value)[::-1])  # type: ignore[arg-type]
    if isinstance(value, (StagedRange, HostList)):
        return m.calls.call(polyfills.reversed_, args, {}, mode)
    return operations.get_iter(m, reversed(value))


def _str(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if len(args) == 1 and (isinstance(args[0], torch.Tensor) or border.has_staged(args[0])):
        return formatting.format_value(m, args[0], "s", "")
    if len(args) == 1 and isinstance(args[0], BaseException) and border.has_staged(args[0].args):
        return formatting.exception_text(m, args[0])
    return str(*args, **kwargs)


def _repr(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if isinstance(args[0], torch.Tensor) or border.has_staged(args[0]):
        return formatting.format_value(m, args[0], "r", "")
    return repr(args[0])


def _format(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return formatting.format_value(m, args[0], "", args[1] if len(args) > 1 else "")


def _print(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if kwargs.get("file") is not None:
        raise Unsupported("TC160", "print() to a file")
    separator, end = kwargs.get("sep") or " ", kwargs.get("end", "\n")
    parts: list[Any] = []
    for n, arg in enumerate(args):
        text = formatting.format_value(m, arg, "s", "") if not isinstance(arg, (str, StagedStr)) else arg
        parts.extend((separator, text) if n else (text,))
    m.recorder.host_many("print", (operand_of(formatting.join_strings(parts)),), (), ("\n" if end is None else end,))
    return None


def _warn(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    message = args[0]
    category = (args[1] if len(args) > 1 else kwargs.get("category")) or UserWarning
    if isinstance(message, Warning):
        message, category = message.args[0], type(message)
    m.recorder.host_many("warn", (operand_of(message),), (), (category.__name__,))
    return None


def _super(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if args:
        return super(*args)
    frame = m.frames[-1]
    code = frame.info.code
    names = code.co_varnames + tuple(c for c in code.co_cellvars if c not in code.co_varnames) + code.co_freevars
    cls = frame.locals[names.index("__class__")].cell_contents
    first = frame.locals[0]
    from types import CellType

    return super(cls, first.cell_contents if isinstance(first, CellType) else first)


def _getattr(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    owner, name = args[:2]
    name = name.constant("getattr()") if isinstance(name, StagedStr) else name
    getter = operations.property_getter(owner, name)
    if getter is not None and hasattr(type(owner), name):
        return m.calls.call(getter, (owner,), {}, mode)
    try:
        return operations.load_attr(m, owner, name)
    except AttributeError:
        if len(args) > 2:
            return args[2]
        raise


def _setattr(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    from toolchain.frontend.machine import protocols

    setter = protocols.setter(m, *args)
    return operations.store_attr(*args) if setter is None else m.calls.call(*setter, {}, mode)


def _module_setattr(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    torch.nn.Module.__setattr__(*args)


def _divmod(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return args[0] // args[1], args[0] % args[1]


def _pow(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return pow(*args)


def _callable(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return callable(args[0])


def _refused(what: str, hint: str) -> Any:
    def handle(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
        raise Unsupported("TC162", f"{what} is not available to a staged program", hint)

    return handle


def _math(function: Any) -> Any:
    def handle(m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
        values = tuple(_number(m, a) for a in args)
        if any(isinstance(v, Staged) for v in values):
            return math_call(MATH_FUNCTIONS[function], values)
        return function(*values)

    return handle


# ---- containers


def _list_pop(items: Any, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if args and isinstance(args[0], StagedInt):
        return items.pop(operations.constant_index(m, args[0], len(items)))
    return items.pop(*args)


def _list_insert(items: Any, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    at = operations.bound_constant(m, args[0], len(items)) if isinstance(args[0], StagedInt) else args[0]
    items.insert(at, args[1])


def _list_extend(items: Any, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if operations.needs_machine(args[0]) or isinstance(args[0], HostList):
        return m.calls.call(polyfills.extend_, (items, args[0]), {}, mode)
    operations.list_extend(m, items, args[0])


def _search(name: str) -> Any:
    def handle(items: Any, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
        if args and searching.needs_machine(items, args[0]):
            return searching.search(m, name, items, args, mode)
        return getattr(items, name)(*args)

    return handle


def _list_sort(items: Any, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if border.has_staged(items) or has_tensors(items) or kwargs.get("key") is not None:
        return m.calls.call(polyfills.sort_, (items,), kwargs, mode)
    items.sort(**kwargs)
    return None


def _dict_get(items: Any, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if isinstance(args[0], StagedNumber):
        for key in items:
            if isinstance(key, (int, float)) and operations.decide(m, args[0] == key):
                return items[key]
        return args[1] if len(args) > 1 else None
    return items.get(*args)


def _str_join(text: Any, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if isinstance(args[0], HostList):
        return m.calls.call(polyfills.join_, (text, *args), {}, mode)
    if operations.needs_machine(args[0]):
        return m.calls.call(polyfills.with_list, (text.join, 0, args, {}), {}, mode)
    parts: list[Any] = []
    for n, part in enumerate(operations.iterate_static(m, args[0])):
        parts.extend((text, part) if n else (part,))
    return formatting.join_strings(parts)


def _str_format(text: Any, m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    if (
        not border.has_staged(args)
        and not border.has_staged(kwargs)
        and not any(isinstance(a, torch.Tensor) for a in args)
    ):
        return text.format(*args, **kwargs)
    import string

    parts: list[Any] = []
    for n, (literal, name, spec, conversion) in enumerate(string.Formatter().parse(text)):
        parts.append(literal)
        if name is not None:
            if name and not name.isidentifier() and not name.isdigit():
                raise Unsupported("TC123", f"the format field {{{name}}} of a run-time value", "use an f-string")
            value = args[n] if not name else args[int(name)] if name.isdigit() else kwargs[name]
            parts.append(formatting.format_value(m, value, conversion or "", spec or ""))
    return formatting.join_strings(parts)


CONTAINER_METHODS: dict[tuple[str, str], Any] = {
    ("list", "pop"): _list_pop,
    ("list", "insert"): _list_insert,
    ("list", "extend"): _list_extend,
    ("list", "index"): _search("index"),
    ("list", "count"): _search("count"),
    ("list", "remove"): _search("remove"),
    ("list", "sort"): _list_sort,
    ("tuple", "index"): _search("index"),
    ("tuple", "count"): _search("count"),
    ("dict", "get"): _dict_get,
    ("str", "join"): _str_join,
    ("str", "format"): _str_format,
}


_NOT_DETERMINISTIC_MODULES = {random.__name__, secrets.__name__, uuid.__name__, "numpy.random", "numpy.random.mtrand"}
_NOT_DETERMINISTIC = {
    time.time, time.perf_counter, time.monotonic, time.process_time, time.time_ns, time.perf_counter_ns, os.urandom,
    os.getpid, torch.seed, torch.initial_seed, id, hash,
}  # fmt: skip


def refuse_if_not_deterministic(function: Any) -> None:
    """Refuses sources of values that differ from call to call: baking one in would be wrong."""
    owner = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None) or type(owner).__module__
    try:
        listed = function in _NOT_DETERMINISTIC
    except TypeError:
        listed = False
    if listed or module in _NOT_DETERMINISTIC_MODULES or isinstance(owner, random.Random):
        name = getattr(function, "__qualname__", str(function))
        raise Unsupported(
            "TC110",
            f"{module}.{name}() gives another value in every call of the model",
            "compute it outside and pass it in",
        )


def handlers() -> dict[Any, Any]:
    """All handlers, by the function that they stand for."""
    table: dict[Any, Any] = {
        int: _int, float: _float, bool: _bool, len: length, range: _range, isinstance: _isinstance, type: _type,
        abs: _abs, round: _round, divmod: _divmod, pow: _pow, callable: _callable, str: _str, repr: _repr,
        format: _format, print: _print, warnings.warn: _warn, super: _super, getattr: _getattr, setattr: _setattr,
        torch.nn.Module.__setattr__: _module_setattr,
        iter: _iter, next: _next, reversed: _reversed,
        max: _extreme("max", polyfills.max_), min: _extreme("min", polyfills.min_),
        all: _polyfilled(all, polyfills.all_), any: _polyfilled(any, polyfills.any_),
        sum: _polyfilled(sum, polyfills.sum_), math.prod: _polyfilled(math.prod, polyfills.prod_),
        sorted: _polyfilled(sorted, polyfills.sorted_),
        enumerate: _polyfilled(enumerate, polyfills.enumerate_, always=True),
        zip: _polyfilled(zip, polyfills.zip_, always=True), map: _polyfilled(map, polyfills.map_, always=True),
        filter: _polyfilled(filter, polyfills.filter_, always=True),
        functools.reduce: _polyfilled(functools.reduce, polyfills.reduce_, always=True),
        list: _collect(list, polyfills.list_), tuple: _collect(tuple, polyfills.tuple_),
        set: _collect(set, polyfills.set_), dict: _collect(dict, polyfills.dict_),
        locals: _refused("locals()", "name the variables"), eval: _refused("eval()", "write the expression"),
        exec: _refused("exec()", "write the code"), globals: _refused("globals()", "name the variables"),
        open: _refused("open()", "read the file before the model is built"), input: _refused("input()", "pass it in"),
    }  # fmt: skip
    for name in ("pack_padded_sequence", "pad_packed_sequence"):
        native = getattr(torch.nn.utils.rnn, name)
        table[native] = _polyfilled(native, getattr(recurrent_polyfills, name), always=True)
    table.update({function: _math(function) for function in MATH_FUNCTIONS})
    table.update({getattr(operator, name): _operator(getattr(operator, name)) for name in _OPERATORS})
    for name in _ITERTOOLS:
        native = getattr(itertools, name)
        table[native] = _polyfilled(native, getattr(iteration_polyfills, name), always=True)
    table.update({getattr(itertools, name): _listed(getattr(itertools, name)) for name in _COMBINATORICS})
    table[itertools.chain.from_iterable] = _polyfilled(None, iteration_polyfills.chain_from_iterable, always=True)
    return table
