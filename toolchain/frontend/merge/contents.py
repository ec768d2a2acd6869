"""The contents of storages on all arrivals, and merging those that every arrival knows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from toolchain.frontend.constants import dtype_name
from toolchain.frontend.merge.hints import Path
from toolchain.frontend.merge.join import Join, Parameter
from toolchain.frontend.storages import PathState, Storage, View
from toolchain.ir import Operand, TensorType, Value


def contents(join: Join, row: tuple[View, ...]) -> tuple[Operand, ...]:
    """What each arrival's view holds."""
    found = (_current(a.path, v) for a, v in zip(join.arrivals, row, strict=True))
    return tuple(_constant(join, v) if o is None else o for o, v in zip(found, row, strict=True))


def _current(path: PathState, view: View) -> Operand:
    found = path.values.get(view)
    return found[1] if found is not None and found[0] == path.version(view.storage) else None


def _constant(join: Join, view: View) -> Operand:
    if view.base is None and view.storage.real is not None:
        return join.recorder.constants.constant(view.storage)
    raise AssertionError("a live tensor without contents")


def root_dtype(root: View, operands: tuple[Operand, ...]) -> torch.dtype:
    if root.storage.real is not None:
        return root.storage.real.dtype
    operand: Any = next(o for o in operands if o is not None)
    return getattr(torch, operand.type.dtype)  # type: ignore[no-any-return]


def merge_storage(join: Join, storage: Storage, views: Iterable[View]) -> None:
    """Merges the contents of a storage that all arrivals know; ``views`` are those of live tensors."""
    roots = [v.root() for v in views]
    roots += [v for a in join.arrivals for v in a.path.values if v.storage is storage and v.base is None]
    if storage in join.hints.storages:
        roots.append(join.hints.storages[storage])
    for root in dict.fromkeys(roots):
        _merge_root(join, root)


def _merge_root(join: Join, root: View) -> None:
    storage, state = root.storage, join.state
    operands = tuple(_current(a.path, root) for a in join.arrivals)
    path: Path = ("storage", storage.label if storage.label is not None else id(storage))
    forced = join.hints.leaves.get(path) == "vary" or (join.isolated and any(isinstance(o, Value) for o in operands))
    version = state.versions.get(storage, 0)
    if not forced and all(o == operands[0] for o in operands):
        if operands[0] is not None:
            state.values[root] = (version, operands[0])
        _copy_views(join, storage)
        return
    operands = tuple(join.recorder.constants.constant(storage) if o is None else o for o in operands)
    dtype = dtype_name(root_dtype(root, operands))
    dims = tuple(n if isinstance(n, int) else None for n in root.shape)
    value = join.value(path, TensorType(dtype, dims))
    join.parameters[("storage", storage)] = Parameter(value, operands, path)
    join.profile[path] = "storage"
    join.new_hints.leaves[path] = "vary"
    if storage.external:
        join.new_hints.storages[storage] = root
    state.versions[storage] = version + 1
    state.values[root] = (version + 1, value)


def _copy_views(join: Join, storage: Storage) -> None:
    """Views whose contents all arrivals have already computed alike."""
    first = join.arrivals[0].path
    for view, (version, operand) in first.values.items():
        is_current = view.storage is storage and view.base is not None and version == first.version(storage)
        if is_current and all(_current(a.path, view) == operand for a in join.arrivals):
            join.state.values[view] = (join.state.versions.get(storage, 0), operand)
