"""Makes the calls that a bundle was recorded with, and compares what comes back. Needs no torch."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

import runtime_py
import runtime_py.vm
from runtime_py.integrity import open_bundle
from runtime_py.recordings import Call, load_recording

RTOL, ATOL = 1e-4, 1e-5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call did.

    result:    what it returned; None when it raised.
    exception: (built-in type, text) of what it raised.
    printed:   what it wrote to standard output.
    matches:   whether this is what eager PyTorch did; None when nothing is recorded to compare with.
    """

    result: Any
    exception: tuple[str, str] | None
    printed: str
    matches: bool | None = None


def replay(
    path: Path,
    target: str | None = None,
    host: Literal["python", "vm"] = "python",
    host_calls: Mapping[str, Callable[..., Any]] | None = None,
) -> tuple[Outcome, ...]:
    """Every recorded call of the bundle, in order, made by one of its hosts. Raises ``runtime_py.SessionError``.

    host_calls: as for ``runtime_py.load``.
    """
    opened = open_bundle(path)
    outcomes = []
    with (
        runtime_py.load(path, target, host_calls=host_calls)
        if host == "python"
        else runtime_py.vm.load(path, target) as session
    ):
        for test in opened.manifest.tests:
            session.reset()
            for call in load_recording(opened, test):
                outcome = observe(session, call.args, call.kwargs)
                # An exception leaves the arguments of the VM host as they were: a status carries no tensors.
                is_changed = call.after is not None and (host == "python" or outcome.exception is None)
                matches = _matches(outcome, call) and (not is_changed or same((call.args, call.kwargs), call.after))
                outcomes.append(dataclasses.replace(outcome, matches=matches))
    return tuple(outcomes)


def run_once(path: Path, arguments: Sequence[Any], target: str | None = None) -> Outcome:
    """One call with positional ``arguments``. Raises ``runtime_py.SessionError``."""
    with runtime_py.load(path, target) as session:
        return observe(session, tuple(arguments), {})


def observe(session: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Outcome:
    """Calls ``session``; an exception of the user's program is an outcome, one of the runtime is raised."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            result, exception = session(*args, **kwargs), None
        except runtime_py.SessionError:
            raise
        except Exception as error:
            result, exception = None, (builtin_base(type(error)).__name__, str(error))
    return Outcome(result, exception, printed.getvalue())


def builtin_base(kind: type[BaseException]) -> type[BaseException]:
    """The nearest base that every Python knows: what a bundle's host can raise itself."""
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


def _matches(outcome: Outcome, call: Call) -> bool:
    return (
        same_exception(outcome.exception, call.exception)
        and outcome.printed == call.printed
        and same(outcome.result, call.result)
    )


def same_exception(mine: tuple[str, str] | None, other: tuple[str, str] | None) -> bool:
    """Whether two exceptions are equal, given that the VM host shows values in its texts as ``{}``."""
    if mine is None or other is None:
        return mine is other
    pattern = ".*".join(map(re.escape, mine[1].split("{}")))
    return mine[0] == other[0] and re.fullmatch(pattern, other[1], re.DOTALL) is not None


def same(a: object, b: object) -> bool:
    """Equal structure; everything but floating-point numbers exactly.

    These within RTOL of themselves plus ATOL of the largest number beside them; NaN equals NaN.
    """
    mine, other = list(leaves(a)), list(leaves(b))
    return len(mine) == len(other) and all(map(_same_leaf, mine, other))


def _same_leaf(a: tuple[str, object], b: tuple[str, object]) -> bool:
    (where, x), (place, y) = a, b
    if where != place or type(x) is not type(y):
        return False
    first, second = np.asarray(x), np.asarray(y)
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    if first.dtype.kind in "fcV":
        # Widened, so that half precision does not overflow while it is compared.
        return _close(_wide(first), _wide(second))
    return bool(np.array_equal(first, second))


def _close(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    # A small element of an array with large ones carries the rounding errors of those that it was summed from.
    finite = np.abs(np.concatenate([first, second], axis=None))
    scale = max(1.0, finite[np.isfinite(finite)].max(initial=0.0))
    return np.allclose(first, second, RTOL, ATOL * scale, equal_nan=True)


def _wide(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array if array.dtype.kind == "c" else array.astype(np.float64)


def leaves(value: object, where: str = "") -> Iterator[tuple[str, object]]:
    """(place, leaf) for every leaf of a result; a place reads like Python: ``[0].logits``."""
    children = _children(value)
    if children is None:
        yield where, value
    else:
        # An empty container is a leaf too, and the kind of a container matters.
        yield f"{where}<{type(value).__name__}>", len(children)
        for name, child in children:
            yield from leaves(child, where + name)


def _children(value: object) -> list[tuple[str, object]] | None:
    if isinstance(value, dict):
        return [(f"[{key!r}]", child) for key, child in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f".{name}", child) for name, child in zip(value._fields, value, strict=True)]
    if isinstance(value, (list, tuple)):
        return [(f"[{i}]", child) for i, child in enumerate(value)]
    if isinstance(value, (np.ndarray, np.generic)) or not hasattr(value, "__dict__"):
        return None
    return [(f".{name}", child) for name, child in vars(value).items()]
