"""Python's functional builtins in Python, so that what they do is visible to the machine: their loops have heads and
joins, and the position of their iterators is part of the state."""

from __future__ import annotations

from typing import Any

import torch

_MISSING = object()


def all_(iterable: Any) -> Any:
    for x in iterable:  # noqa: SIM110 (this is what ``all`` becomes)
        if not x:
            return False
    return True


def any_(iterable: Any) -> Any:
    for x in iterable:  # noqa: SIM110 (this is what ``any`` becomes)
        if x:
            return True
    return False


def sum_(iterable: Any, start: Any = 0) -> Any:
    for x in iterable:
        start = start + x
    return start


def prod_(iterable: Any, *, start: Any = 1) -> Any:
    for x in iterable:
        start = start * x
    return start


def list_(iterable: Any) -> Any:
    out = []
    for x in iterable:
        out.append(x)
    return out


def tuple_(iterable: Any) -> Any:
    return tuple(list_(iterable))


def set_(iterable: Any) -> Any:
    return set(list_(iterable))


def dict_(iterable: Any) -> Any:
    out = {}
    for k, v in iterable:
        out[k] = v
    return out


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    i = start
    for x in iterable:
        yield i, x
        i += 1


def zip_(*iterables: Any, strict: bool = False) -> Any:
    iterators = [iter(x) for x in iterables]
    while iterators:
        row: list[Any] = []
        for it in iterators:
            x = next(it, _MISSING)
            if x is _MISSING:
                if strict and (row or len(iterators) > 1):
                    zip_strict(iterators, len(row))
                return
            row.append(x)
        yield tuple(row)


def zip_strict(iterators: Any, position: int) -> None:
    if position:
        raise ValueError(
            f"zip() argument {position + 1} is shorter than argument{'s 1-' if position > 1 else ' '}{position}"
        )
    for n, it in enumerate(iterators[1:], 2):
        if next(it, _MISSING) is not _MISSING:
            raise ValueError(f"zip() argument {n} is longer than argument{'s 1-' if n > 2 else ' '}{n - 1}")


def map_(function: Any, *iterables: Any) -> Any:
    for row in zip_(*iterables):
        yield function(*row)


def filter_(function: Any, iterable: Any) -> Any:
    for x in iterable:
        if function(x) if function is not None else x:
            yield x


def reversed_(sequence: Any) -> Any:
    n = len(sequence)
    for i in range(n):
        yield sequence[n - 1 - i]


def extreme(iterable: Any, key: Any, default: Any, sign: int, name: str) -> Any:
    """``max`` (sign 1) and ``min`` (sign -1) with the key of each element computed once; the first of equals wins."""
    iterator = iter(iterable)
    best = next(iterator, _MISSING)
    if best is _MISSING:
        if default is _MISSING:
            raise ValueError(f"{name}() arg is an empty sequence")
        return default
    best_key = best if key is None else key(best)
    for x in iterator:
        k = x if key is None else key(x)
        better = k > best_key if sign > 0 else k < best_key
        if better:
            best = x
            best_key = k
    return best


def max_(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
    return extreme(args[0] if len(args) == 1 else args, key, default, 1, "max")


def min_(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
    return extreme(args[0] if len(args) == 1 else args, key, default, -1, "min")


def sorted_(iterable: Any, *, key: Any = None, reverse: bool = False) -> Any:
    """A stable insertion sort: each comparison of staged keys is one decision, and paths meet after every exchange."""
    items = list_(iterable)
    keys = [x if key is None else key(x) for x in items]
    n = len(items)
    for i in range(1, n):
        for step in range(i):
            j = i - step
            later, earlier = (keys[j], keys[j - 1])
            swap = earlier < later if reverse else later < earlier
            if swap:
                keys[j], keys[j - 1] = earlier, later
                items[j], items[j - 1] = items[j - 1], items[j]
    return items


def reduce_(function: Any, iterable: Any, initial: Any = _MISSING) -> Any:
    iterator = iter(iterable)
    value = initial
    if value is _MISSING:
        value = next(iterator, _MISSING)
        if value is _MISSING:
            raise TypeError("reduce() of empty iterable with no initial value")
    for x in iterator:
        value = function(value, x)
    return value


def extend_(target: Any, iterable: Any) -> None:
    for x in iterable:
        target.append(x)


def sort_(items: Any, *, key: Any = None, reverse: bool = False) -> None:
    for i, x in enumerate(sorted_(items, key=key, reverse=reverse)):
        items[i] = x


def join_(separator: Any, parts: Any) -> Any:
    """``str.join`` of a list of unknown length."""
    text = ""
    for i, part in enumerate(parts):
        text = text + separator + part if i else part
    return text


def extended_(target: Any, iterable: Any) -> Any:
    extend_(target, iterable)
    return target


def index_(sequence: Any, value: Any, start: Any = 0, stop: Any = None, *, by_identity: bool) -> Any:
    part = sequence if start == 0 and stop is None else sequence[start:stop]
    first = max(start + len(sequence), 0) if start < 0 else start
    for i, x in enumerate(part, first):
        if (by_identity and x is value) or x == value:
            return i
    if isinstance(sequence, tuple):
        raise ValueError("tuple.index(x): x not in tuple")
    if isinstance(value, torch.Tensor):
        raise NotImplementedError("a tensor that is not in a list, in words; that path is not compiled")
    raise ValueError(f"{value!r} is not in list")


def count_(sequence: Any, value: Any, *, by_identity: bool) -> Any:
    n = 0
    for x in sequence:
        if (by_identity and x is value) or x == value:
            n += 1
    return n


def remove_(items: Any, value: Any, *, by_identity: bool) -> None:
    for i, x in enumerate(items):
        if (by_identity and x is value) or x == value:
            items.pop(i)
            return
    raise ValueError("list.remove(x): x not in list")


def contains_element_(items: Any, value: Any, inverted: bool, *, by_identity: bool) -> Any:
    if by_identity:
        return contains_by_iteration_(items, value, inverted)
    found: Any = False
    for x in items:
        found = found | bool(x == value)
    return not found if inverted else found


def operator_(attempts: Any, left: Any, right: Any, symbol: str) -> Any:
    """The first of the (method, self, other) attempts that does not decline."""
    for method, a, b in attempts:
        result = method(a, b)
        if result is not NotImplemented:
            return result
    if symbol == "==":
        return left is right
    if symbol == "!=":
        return left is not right
    if symbol in ("<", "<=", ">", ">="):
        raise TypeError(
            f"'{symbol}' not supported between instances of '{type(left).__name__}' and '{type(right).__name__}'"
        )
    raise TypeError(f"unsupported operand type(s) for {symbol}: '{type(left).__name__}' and '{type(right).__name__}'")


def truth_(value: Any) -> bool:
    if value:  # noqa: SIM103  (bool() is what this stands for)
        return True
    return False


def contains_(method: Any, container: Any, item: Any, inverted: bool) -> bool:
    return truth_(method(container, item)) is not inverted


def contains_by_iteration_(container: Any, item: Any, inverted: bool) -> bool:
    for x in container:
        if x is item or x == item:
            return not inverted
    return inverted


def iterate_next(iterator: Any) -> Any:
    while True:
        try:
            x = type(iterator).__next__(iterator)
        except StopIteration:
            return
        yield x


def iterate_items(sequence: Any) -> Any:
    n = 0
    while True:
        try:
            x = sequence[n]
        except IndexError:
            return
        yield x
        n += 1


def iterate_until(function: Any, sentinel: Any) -> Any:
    while True:
        x = function()
        if x == sentinel:
            return
        yield x


def with_list(function: Any, position: int, args: Any, kwargs: Any) -> Any:
    """Calls native code with the elements of a generator, which it cannot run."""
    return function(*args[:position], list_(args[position]), *args[position + 1 :], **kwargs)


def unpacked(function: Any, iterable: Any, kwargs: Any) -> Any:
    return function(*tuple_(iterable), **kwargs)


def construct(cls: Any, args: Any, kwargs: Any) -> Any:
    instance = cls.__new__(cls, *args, **kwargs)
    if isinstance(instance, cls) and cls.__init__ is not object.__init__:
        cls.__init__(instance, *args, **kwargs)
    return instance


def root(module: Any, args: Any, kwargs: Any) -> Any:
    """The caller of the program: its frame is the bottom of every call stack."""
    return module(*args, **kwargs)
