"""The calls that a bundle was recorded with, as NumPy arrays: for self-tests and examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime_py.constants import from_constant
from runtime_py.decode import decode
from runtime_py.dtypes import numpy_dtype
from runtime_py.errors import BundleError
from runtime_py.format import RecordedCall, RecordedTest, Recording, Tree
from runtime_py.integrity import OpenBundle
from runtime_py.objects import make_object


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded call.

    args, kwargs: what to call with; tensors are NumPy arrays.
    result:       what must come back; None if it raises.
    exception:    (built-in type, text) of what it raises.
    printed:      what it writes to standard output.
    after:        (args, kwargs) after the call, if it changes one of their tensors in place; else None.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    exception: tuple[str, str] | None
    printed: str
    after: tuple[tuple[Any, ...], dict[str, Any]] | None


def load_recording(bundle: OpenBundle, test: RecordedTest) -> tuple[Call, ...]:
    """The calls of one test, to be made in order after a reset. Raises ``BundleError`` RT102 if it is malformed."""

    def array(tree: Tree) -> Any:
        return load_array(bundle, test, tree)

    calls = []
    for call in read_calls(bundle, test):
        args, kwargs = recorded_value(call.arguments, array)
        result = None if call.result is None else recorded_value(call.result, array)
        exception = (call.exception, call.text) if call.exception else None
        after = None if call.after is None else recorded_value(call.after, array)
        calls.append(Call(args, kwargs, result, exception, call.printed, after))
    return tuple(calls)


def read_calls(bundle: OpenBundle, test: RecordedTest) -> tuple[RecordedCall, ...]:
    """The calls as the test's file describes them. Raises ``BundleError`` RT102 if it is malformed."""
    return decode(bundle.path(test.path).read_bytes(), Recording, test.path).calls


def array_path(test: RecordedTest, tree: Tree) -> str:
    """Where the recorded array ``tree`` is in the bundle."""
    return f"{test.path.rpartition('/')[0]}/{tree.file}"


def load_array(bundle: OpenBundle, test: RecordedTest, tree: Tree) -> Any:
    """The recorded array ``tree``. Raises ``BundleError`` RT102 if its file is no array."""
    path = array_path(test, tree)
    try:
        array = np.load(bundle.path(path), allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise BundleError("RT102", f"{path} is not an array: {error}", "build the bundle again") from error
    return array.view(numpy_dtype(tree.dtype)) if tree.dtype == "bfloat16" else array


def recorded_value(tree: Tree, array: Callable[[Tree], Any]) -> Any:
    """The Python value that ``tree`` describes; ``array`` gives its arrays."""
    items = [recorded_value(item, array) for item in tree.items]
    match tree.kind:
        case "leaf":
            return array(tree)
        case "literal":
            return None if tree.literal is None else from_constant(tree.literal)
        case "tuple" | "size":
            return tuple(items)
        case "list":
            return items
        case "set":
            return set(items)
        case "dict":
            return dict(zip(map(from_constant, tree.keys), items, strict=True))
        case _:
            module, _, qualname = tree.cls.partition(":")
            return make_object(tree.kind, module, qualname, dict(zip(tree.fields, items, strict=True)))
