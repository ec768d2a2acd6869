"""Storages, views and what a path knows about their contents.

The unit of mutation is the storage. A tensor of the program is a ``View``: a chain of view operations from the root of
a storage. In-place operations give the storage a new version; the views of older versions are derived again when read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from toolchain.frontend.facts import Facts
from toolchain.frontend.signals import Origin
from toolchain.ir import Argument, Operand


class Storage:
    """The memory behind one or more tensors.

    real:     the tensor of the program that it stands for, if it existed before the call.
    external: visible from outside of the call (a weight, a buffer, an argument).
    """

    __slots__ = ("external", "label", "real")

    def __init__(self, real: torch.Tensor | None = None, external: bool = False, label: object = None) -> None:
        self.real = real
        self.external = external
        self.label = label

    @property
    def is_argument(self) -> bool:
        """Visible from outside of the call, and other in every call."""
        return self.external and self.real is None


class View:
    """A window on a storage: the root (base None), or one view operation on top of another view.

    shape: ints and raw SymInts. args and kwargs: encoded, without the base. index: which result, of ``count``.
    """

    __slots__ = ("args", "base", "count", "index", "kwargs", "shape", "storage", "target")

    def __init__(
        self,
        storage: Storage,
        shape: tuple[Any, ...],
        base: View | None = None,
        target: str = "",
        args: tuple[Argument, ...] = (),
        kwargs: tuple[tuple[str, Argument], ...] = (),
        index: int = 0,
        count: int = 1,
    ) -> None:
        self.storage = storage
        self.shape = shape
        self.base = base
        self.target = target
        self.args = args
        self.kwargs = kwargs
        self.index = index
        self.count = count

    def chain(self) -> tuple[View, ...]:
        """The views from the one above the root down to this one."""
        views: list[View] = []
        view: View = self
        while view.base is not None:
            views.append(view)
            view = view.base
        return tuple(reversed(views))

    def root(self) -> View:
        view = self
        while view.base is not None:
            view = view.base
        return view

    def signature(self) -> tuple[object, ...]:
        """Equal signatures on equal bases are equal views."""
        return tuple((v.target, v.args, v.kwargs, v.index, v.count) for v in self.chain())


@dataclass(slots=True)
class PathState:
    """What is true at one point of one path, apart from the Python heap. Copied for every fork.

    values:    the current operand of each view, with the storage version that it belongs to.
    versions:  how often each storage was changed in place.
    decided:   answers by the id of the condition's value.
    items:     the staged scalar read from a tensor value, so that reading twice is one operation.
    conflicts: storages merged from paths that disagree about aliasing; changing them in place is not sound.
    depth:     number of decisions so far.
    """

    values: dict[View, tuple[int, Operand]]
    versions: dict[Storage, int]
    facts: Facts
    decided: dict[int, bool]
    items: dict[int, Any]
    conflicts: dict[Storage, frozenset[Origin]]
    depth: int = 0

    @staticmethod
    def empty() -> PathState:
        return PathState({}, {}, Facts(), {}, {}, {})

    def copy(self) -> PathState:
        return PathState(
            dict(self.values),
            dict(self.versions),
            self.facts.copy(),
            dict(self.decided),
            dict(self.items),
            dict(self.conflicts),
            self.depth,
        )

    def version(self, storage: Storage) -> int:
        return self.versions.get(storage, 0)

    def blame(self, storage: Storage, origins: frozenset[Origin] | set[Origin]) -> None:
        """From now on ``storage`` must not be changed in place; ``origins`` are to blame if it is."""
        self.conflicts[storage] = self.conflicts.get(storage, frozenset()) | origins
