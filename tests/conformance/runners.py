"""How each host runs the calls of a case. A host is added by a class here and a line in ``RUNNERS``."""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch.utils import _pytree as pytree

import runtime_py
import runtime_py.vm
from runtime_py import Decision
from toolchain import Example
from toolchain.recording import call_arguments
from toolchain.replay import builtin_base


@dataclass(frozen=True)
class Observed:
    """What one call did; tensors are NumPy arrays.

    exception: (built-in type, text). arguments: as they are after the call. path: None if the host cannot report it.
    """

    result: Any
    exception: tuple[str, str] | None
    printed: str
    arguments: Any
    path: list[Decision] | None


class Runner(Protocol):
    def run(self, bundle: Path, target: str, calls: Sequence[Example]) -> list[Observed]:
        """Makes the calls in order from the initial state; ``target`` is a kind, "cpu" or "vulkan"."""
        ...


class PythonRunner:
    def run(self, bundle: Path, target: str, calls: Sequence[Example]) -> list[Observed]:
        found = []
        with runtime_py.load(bundle, target) as session:
            for call in calls:
                with session.trace() as decisions:
                    found.append(observe(session, call, decisions))
        return found


class VmRunner:
    """Runs the traced host program, which bundles built with ``debug`` have."""

    def run(self, bundle: Path, target: str, calls: Sequence[Example]) -> list[Observed]:
        with runtime_py.vm.load(bundle, target, traced=True) as session:
            return [observe(session, call, session.path) for call in calls]


RUNNERS: dict[str, Runner] = {"python": PythonRunner(), "vm": VmRunner()}


def observe(
    program: Callable[..., Any], call: Example, path: list[Decision] | Callable[[], list[Decision]] | None = None
) -> Observed:
    """Makes one call; ``path`` is looked at afterwards. Errors of the runtime are none of the program: they pass."""
    args, kwargs = call_arguments(call)
    printed = io.StringIO()
    result: Any = None
    exception = None
    with contextlib.redirect_stdout(printed):
        try:
            result = arrays(program(*args, **kwargs))
        except runtime_py.SessionError:
            raise
        except Exception as error:
            exception = (builtin_base(type(error)).__name__, str(error))
    taken = path() if callable(path) else path
    return Observed(result, exception, printed.getvalue(), arrays((args, kwargs)), taken)


def arrays(tree: Any) -> Any:
    """A copy of ``tree`` with NumPy arrays in place of tensors; bfloat16 is widened."""

    def array(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return copy.deepcopy(leaf)
        plain = leaf.detach().float() if leaf.dtype == torch.bfloat16 else leaf.detach()
        return plain.clone().numpy()

    return pytree.tree_map(array, tree)
