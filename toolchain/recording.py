"""Runs the examples in eager PyTorch: the calls and outcomes that a bundle carries as its tests."""

from __future__ import annotations

import contextlib
import copy
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from toolchain.options import Dynamic, Example
from toolchain.replay import builtin_base


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call in eager PyTorch.

    args, kwargs: the arguments as they were before the call.
    result:       what the module returned; None when it raised.
    exception:    (built-in type, text) of what it raised.
    printed:      what it wrote to standard output.
    after:        (args, kwargs) after the call, if it changed one of their tensors in place; else None.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any = None
    exception: tuple[str, str] | None = None
    printed: str = ""
    after: tuple[tuple[Any, ...], dict[str, Any]] | None = None


def record(module: Callable[..., Any], examples: Sequence[Example]) -> tuple[RecordedCall, ...]:
    """Calls a copy of ``module`` with every example, in order on one copy: a stateful module sees the earlier calls."""
    own = copy.deepcopy(module)
    with torch.no_grad(), one_thread():
        return tuple(_record_call(own, example) for example in examples)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch on one thread: those that share a busy processor wait for each other at every small operation."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _record_call(module: Callable[..., Any], example: Example) -> RecordedCall:
    args, kwargs = call_arguments(example)
    kept_args, kept_kwargs = copy.deepcopy((args, kwargs))
    versions = _versions(args, kwargs)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # The result may alias an argument or a buffer that a later call changes.
            result, exception = copy.deepcopy(module(*args, **kwargs)), None
        except Exception as error:
            result, exception = None, (builtin_base(type(error)).__name__, str(error))
    after = copy.deepcopy((args, kwargs)) if _versions(args, kwargs) != versions else None
    return RecordedCall(kept_args, kept_kwargs, result, exception, printed.getvalue(), after)


def _versions(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
    """How often each tensor among the arguments has been written to."""
    return [leaf._version for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]


def call_arguments(example: Example) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Fresh arguments for one call, with ``Dynamic`` markers replaced by their values."""
    return copy.deepcopy(replace_markers(example, lambda marker: marker.value))


def replace_markers(example: Example, replacement: Callable[[Dynamic], Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with something else in the place of every ``Dynamic``."""

    def replaced(leaf: Any) -> Any:
        return replacement(leaf) if isinstance(leaf, Dynamic) else leaf

    arguments = (example.args, dict(example.kwargs))
    args, kwargs = pytree.tree_map(replaced, arguments, is_leaf=lambda leaf: isinstance(leaf, Dynamic))
    return args, kwargs
