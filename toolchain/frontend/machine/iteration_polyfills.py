"""``itertools`` in Python, for the same reason as ``polyfills``: an iterator of native code hides its position, and
calls the user's functions where the machine cannot see them."""

from __future__ import annotations

from typing import Any

_MISSING = object()


def count(start: Any = 0, step: Any = 1) -> Any:
    while True:
        yield start
        start = start + step


def cycle(iterable: Any) -> Any:
    items = list(iterable)
    while items:
        yield from items


def chain(*iterables: Any) -> Any:
    for iterable in iterables:
        yield from iterable


def chain_from_iterable(iterables: Any) -> Any:
    for iterable in iterables:
        yield from iterable


def repeat(value: Any, times: Any = None) -> Any:
    if times is None:
        while True:
            yield value
    for _ in range(times):
        yield value


def islice(iterable: Any, *bounds: Any) -> Any:
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, None)[:3]
    start = 0 if start is None else start
    step = 1 if step is None else step
    iterator = iter(iterable)
    position = 0
    wanted = start
    while stop is None or position < stop:
        x = next(iterator, _MISSING)
        if x is _MISSING:
            return
        if position == wanted:
            yield x
            wanted += step
        position += 1


def accumulate(iterable: Any, function: Any = None, *, initial: Any = None) -> Any:
    iterator = iter(iterable)
    total = next(iterator, _MISSING) if initial is None else initial
    if total is _MISSING:
        return
    yield total
    for x in iterator:
        total = total + x if function is None else function(total, x)
        yield total


def takewhile(predicate: Any, iterable: Any) -> Any:
    for x in iterable:
        if not predicate(x):
            return
        yield x


def dropwhile(predicate: Any, iterable: Any) -> Any:
    dropping = True
    for x in iterable:
        if dropping and predicate(x):
            continue
        dropping = False
        yield x


def filterfalse(predicate: Any, iterable: Any) -> Any:
    for x in iterable:
        if not (x if predicate is None else predicate(x)):
            yield x


def starmap(function: Any, iterable: Any) -> Any:
    for row in iterable:
        yield function(*row)


def compress(data: Any, selectors: Any) -> Any:
    for x, chosen in zip(data, selectors, strict=False):
        if chosen:
            yield x


def pairwise(iterable: Any) -> Any:
    iterator = iter(iterable)
    before = next(iterator, _MISSING)
    if before is _MISSING:
        return
    for x in iterator:
        yield before, x
        before = x


def zip_longest(*iterables: Any, fillvalue: Any = None) -> Any:
    rows = [list(iterable) for iterable in iterables]
    for n in range(max([len(row) for row in rows], default=0)):
        yield tuple([row[n] if n < len(row) else fillvalue for row in rows])
