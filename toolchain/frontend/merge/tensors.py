"""Merging tensors: which are one, which share a storage, and which become block arguments.

What a tensor becomes depends on all others that share its storage on some arrival. So the heaps are walked twice: the
first walk collects the tensors, ``merge`` decides, the second walk puts the merged tensors in place.
"""

from __future__ import annotations

from typing import Any

import torch

from toolchain.frontend.functional import operator
from toolchain.frontend.merge.contents import contents, merge_storage, root_dtype
from toolchain.frontend.merge.hints import Mismatch, Path
from toolchain.frontend.merge.join import Join
from toolchain.frontend.merge.tensor_parameters import TensorParameters
from toolchain.frontend.merge.wording import kind_of
from toolchain.frontend.signals import Origin
from toolchain.frontend.storages import Storage, View
from toolchain.ir import Value, leaves

Key = tuple[Any, ...]
"""Identifies a merged tensor: the ``id`` of its object on each arrival, and the leaf that it was one tensor with."""


class TensorMerger:
    def __init__(self, join: Join) -> None:
        self._join = join
        self._parameters = TensorParameters(join)
        self._positions: dict[Key, tuple[Path, tuple[torch.Tensor, ...]]] = {}
        self._views: dict[Key, tuple[View, ...]] = {}
        self._conflicts: dict[Key, frozenset[Origin]] = {}
        self._tensors: dict[Key, torch.Tensor] = {}
        self._collecting = True

    def visit(self, path: Path, refs: tuple[Any, ...], key: tuple[int, ...]) -> torch.Tensor:
        """Collects the tensors at ``path``; after ``merge`` returns what they became."""
        at = (*key, self._join.hints.owners.get(path))
        if not self._collecting:
            return self._tensors[at]
        first: torch.Tensor = refs[0]
        for ref in refs:
            if not isinstance(ref, torch.Tensor):
                raise Mismatch(path, f"a tensor on one path, {kind_of(ref)} on another")
            if ref.dtype != first.dtype or ref.dim() != first.dim():
                raise Mismatch(path, "tensors of different dtype or rank")
        self._join.new_hints.owners[path] = self._positions.setdefault(at, (path, refs))[0]
        return first

    def merge(self, shared: dict[Storage, set[Origin]]) -> None:
        """Merges what was collected. ``shared``: storages that host lists have elements in, with the origins."""
        join = self._join
        self._collecting = False
        self._views = {k: tuple(join.recorder.view_of(t) for t in refs) for k, (_, refs) in self._positions.items()}
        if join.isolated:
            for p in (a.path for a in join.arrivals):
                for storage in p.versions:
                    if storage.external:
                        join.state.versions[storage] = 1
        self._conflicts = self._alias_conflicts()
        kept = self._merge_groups()
        externals = [s for a in join.arrivals for s in a.path.versions if s.external]
        if not join.isolated:  # arguments that the program has dropped on this path may be changed on another one
            externals += [v.storage for a in join.arrivals for v in a.path.values if v.storage.is_argument]
        # In an order that is the same in every run: it is that of the block's arguments.
        for storage in dict.fromkeys((*kept, *externals, *join.hints.storages)):
            merge_storage(join, storage, [v for row in self._views.values() for v in row if v.storage is storage])
        self._mark_conflicts()
        self._mark_shared(shared)
        self._keep_conflicts()

    def _merge_groups(self) -> list[Storage]:
        """Merges all tensors; returns the storages of those that stay as they are."""
        join = self._join
        kept: list[Storage] = []
        groups: dict[tuple[Any, ...], list[Key]] = {}
        for key, row in self._views.items():
            if not self._varies(key) and (not join.isolated or row[0].storage.real is not None):
                self._tensors[key] = self._positions[key][1][0]
                kept.append(row[0].storage)
            else:
                groups.setdefault(self._pattern(key), []).append(key)
        for members in groups.values():
            for key in members:
                join.new_hints.groups[self._path(key)] = self._path(members[0])
            self._merge_group(members)
        return kept

    def _path(self, key: Key) -> Path:
        return self._positions[key][0]

    def _varies(self, key: Key) -> bool:
        """Whether the arrivals have different tensors here, or had in an earlier round."""
        return not _same_view(self._views[key]) or self._join.hints.leaves.get(self._path(key)) == "vary"

    def _pattern(self, key: Key) -> tuple[Any, ...]:
        """Equal for tensors that share a storage on every arrival, and did so in earlier rounds."""
        path, hints = self._path(key), self._join.hints
        group = None if hints.leaves.get(path) == "keep" else hints.groups.get(path)
        return (group, *(id(v.storage) for v in self._views[key]))

    # ---- aliasing

    def _alias_conflicts(self) -> dict[Key, frozenset[Origin]]:
        """Positions whose aliasing differs between arrivals, with the origins to blame."""
        conflicted: dict[Key, set[Origin]] = {}
        for n in range(len(self._join.arrivals)):
            sharing: dict[Storage, list[Key]] = {}
            for key, row in self._views.items():
                sharing.setdefault(row[n].storage, []).append(key)
            for storage, keys in sharing.items():
                varying = [k for k in keys if self._varies(k)]
                patterns = {self._pattern(k) for k in keys}
                if len(patterns) > 1 or (varying and (storage.external or len(varying) < len(keys))):
                    origins = {self._join.origin(self._path(k)) for k in varying or keys}
                    for k in keys:
                        conflicted.setdefault(k, set()).update(origins)
        for key in conflicted:
            path = self._path(key)
            if self._join.hints.leaves.get(path) == "keep" and self._varies(key):
                raise Mismatch(
                    path, "a tensor that is shared on one path and not on another, and is changed in place later"
                )
        return {k: frozenset(o) for k, o in conflicted.items()}

    def _mark_conflicts(self) -> None:
        for key, origins in self._conflicts.items():
            storages = {self._join.recorder.view_of(self._tensors[key]).storage}
            storages |= {v.storage for v in self._views[key] if v.storage.external}
            for storage in storages:
                self._join.state.blame(storage, origins)
        for key, row in self._views.items():  # what stands for a tensor that was blamed earlier is to blame as well
            own = self._join.recorder.view_of(self._tensors[key]).storage
            for arrival, view in zip(self._join.arrivals, row, strict=True):
                if view.storage in arrival.path.conflicts:
                    self._join.state.blame(own, arrival.path.conflicts[view.storage])

    def _mark_shared(self, shared: dict[Storage, set[Origin]]) -> None:
        """Tensors in lists that became host lists: those keep the contents of now."""
        state = self._join.state
        for storage, origins in shared.items():
            state.blame(storage, origins)
        for key, row in self._views.items():
            own = self._join.recorder.view_of(self._tensors[key]).storage
            for storage in {v.storage for v in row} & shared.keys():
                state.blame(own, shared[storage])

    def _keep_conflicts(self) -> None:
        """What a loop's body does to a storage that its head knows holds behind the loop as well, where the body may
        not have run: it is part of what the join says."""
        join, state = self._join, self._join.state
        # Those that an earlier merge blamed stay blamed, although nothing of them may have come in this time.
        known = (place for place in join.conflicts if isinstance(place, Storage))
        old = (s for s in (*state.conflicts, *state.versions, *known) if s.real is not None)
        places: dict[Path | Storage, Storage] = {s: s for s in old}
        for key, row in self._views.items():
            own = places[self._path(key)] = join.recorder.view_of(self._tensors[key]).storage
            for arrival, view in zip(join.arrivals, row, strict=True):
                if view.storage in arrival.path.conflicts:
                    state.blame(own, arrival.path.conflicts[view.storage])
        for place, storage in places.items():
            if place in join.conflicts:
                state.blame(storage, join.conflicts[place])
        join.conflicts = {place: state.conflicts[s] for place, s in places.items() if s in state.conflicts}
        join.profile[("conflicts",)] = join.conflicts

    # ---- groups

    def _merge_group(self, members: list[Key]) -> None:
        """Tensors that share a storage on every arrival."""
        rows = [self._views[k] for k in members]
        distinct = {(key[-1], *(id(v) for v in row)) for key, row in zip(members, rows, strict=True)}
        if len(distinct) == 1:
            merged = self._fresh_tensor(members[0])
            # One tensor stands for what were several objects on some path: ``is`` cannot tell them apart any more.
            merged.__dict__["_toolchain_several"] = len(members) > 1
            for key in members:
                self._tensors[key] = merged
            return
        chains_agree = all(len({v.signature() for v in row}) == 1 for row in rows)
        if not chains_agree:
            self._merge_by_value(members)
            return
        base = self._fresh_base(members[0])
        for key, row in zip(members, rows, strict=True):
            self._tensors[key] = self._replay(base, row[0])

    def _merge_by_value(self, members: list[Key]) -> None:
        """Different views of one storage: each becomes a tensor of its own, and none may be changed in place."""
        origins = frozenset(self._join.origin(self._path(k)) for k in members)
        if any(self._join.hints.leaves.get(path) == "keep" for path in map(self._path, members)):
            raise Mismatch(self._path(members[0]), "different views of one tensor")
        merged: dict[tuple[Any, ...], torch.Tensor] = {}
        for key in members:
            row = (key[-1], *(id(v) for v in self._views[key]))
            if row not in merged:
                merged[row] = self._fresh_tensor(key)
            self._tensors[key] = merged[row]
            self._conflicts[key] = self._conflicts.get(key, frozenset()) | origins

    def _fresh_tensor(self, key: Key) -> torch.Tensor:
        path, refs = self._positions[key]
        operands = contents(self._join, self._views[key])
        return self._parameters.make(path, refs[0].dtype, [tuple(r.shape) for r in refs], operands, refs)

    def _fresh_base(self, key: Key) -> torch.Tensor:
        """The root that the tensors which share the storage of ``key`` are views of."""
        path = (*self._path(key), "base")
        roots = tuple(v.root() for v in self._views[key])
        operands = contents(self._join, roots)
        dtype = root_dtype(roots[0], operands)
        if len({len(r.shape) for r in roots}) > 1:
            raise Mismatch(path, "views of tensors of different rank")
        return self._parameters.make(path, dtype, [r.shape for r in roots], operands, None)

    def _replay(self, base: torch.Tensor, view: View) -> torch.Tensor:
        """The view ``view`` of another storage, on ``base``."""
        recorder = self._join.recorder
        tensor, current = base, recorder.view_of(base)
        for step in view.chain():
            with recorder.paused(), recorder.fake_mode:
                if any(isinstance(a, Value) for a in leaves(step.args)):  # only the shape matters here
                    out = torch.empty(step.shape, dtype=tensor.dtype)
                else:
                    out = operator(step.target)(tensor, *step.args, **dict(step.kwargs))
            tensor = out[step.index] if isinstance(out, (tuple, list)) else out
            current = View(
                current.storage,
                tuple(tensor.shape),
                current,
                step.target,
                step.args,
                step.kwargs,
                step.index,
                step.count,
            )
            tensor.__dict__["_toolchain_view"] = current
        return tensor


def _same_view(row: tuple[View, ...]) -> bool:
    """Whether all arrivals look at the same elements of the same storage."""
    return len({id(v.storage) for v in row}) == 1 and len({v.signature() for v in row}) == 1
