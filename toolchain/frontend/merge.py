"""Merging the states of several arrivals at one point of the program: abstract interpretation's join.

The arrivals' heaps are walked in parallel. What is equal stays; numbers and tensors that differ become block arguments;
lists of different length become host lists; anything else that differs means that the paths stay apart (``Mismatch``).
Two leaves that differ in the same way on all arrivals share one argument, so relations such as "the counter is the
length of the tensor" survive.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import sympy
import torch
from torch.utils._sympy.value_ranges import bound_sympy

from toolchain.frontend import torch_adapter
from toolchain.frontend.constants import dtype_name
from toolchain.frontend.functional import fresh_root, operator
from toolchain.frontend.heap import EMPTY_CELL, Image, Snapshot, World, image_of, is_atomic, is_tracked
from toolchain.frontend.machine.border import StagedSize
from toolchain.frontend.machine.calls import GeneratorMethod
from toolchain.frontend.machine.frame import NULL, Frame, IndexIter, StagedRange
from toolchain.frontend.machine.lists import ListMethod
from toolchain.frontend.recorder import Recorder
from toolchain.frontend.signals import Origin
from toolchain.frontend.staged import (
    Array,
    HostList,
    Staged,
    StagedNumber,
    StagedObject,
    StagedStr,
    expression,
    operand_of,
    scalar_type,
    wrap,
)
from toolchain.frontend.storages import PathState, Storage, View
from toolchain.frontend.symbols import SymbolSource
from toolchain.frontend.templates import Template, common_template, list_type_of
from toolchain.ir import FLOAT, INT, OBJECT, STR, Operand, ScalarType, TensorType, Type, Value, leaves

Path = tuple[Any, ...]
Hint = Literal["vary", "const", "keep"]


class Mismatch(Exception):
    """The arrivals cannot be merged; ``path`` leads to what differs."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


@dataclass(slots=True)
class Hints:
    """What earlier rounds learnt about a join: leaves that vary, must be constant, or must keep their identity.

    dims: per tensor leaf the dimensions that vary. signed: integers that may be negative. data: leaves that stem from
    tensor elements on some arrival. changed: objects from before the call that differ on some arrival, by ``id``.
    owners: per tensor leaf the leaf that it is one tensor with; groups: the leaf that it shares a storage with, if it
    varies.
    storages: those from before the call whose contents vary, with their root.
    """

    leaves: dict[Path, Hint] = field(default_factory=dict)
    dims: dict[Path, frozenset[int]] = field(default_factory=dict)
    signed: set[Path] = field(default_factory=set)
    data: set[Path] = field(default_factory=set)
    templates: dict[Path, Template] = field(default_factory=dict)
    unshared: set[Path] = field(default_factory=set)
    changed: dict[int, Any] = field(default_factory=dict)
    owners: dict[Path, Path] = field(default_factory=dict)
    groups: dict[Path, Path] = field(default_factory=dict)
    storages: dict[Storage, View] = field(default_factory=dict)


@dataclass(slots=True)
class Parameter:
    """A block argument: its value, and the operand that each arrival passes."""

    value: Value
    operands: tuple[Operand, ...]
    path: Path


@dataclass(slots=True)
class Merged:
    snapshot: Snapshot
    parameters: list[Parameter]
    profile: dict[Path, object]
    partners: dict[Path, object]
    hints: Hints


ListOperand = Callable[[int, list[Any], Template | None], Operand]


class Merger:
    """One merge. ``join``: identifies the join in the origins of its arguments. ``isolated``: no value of an arrival is
    visible at the join (the state between calls), so everything but constants is an argument."""

    def __init__(
        self,
        recorder: Recorder,
        world: World,
        arrivals: list[Snapshot],
        hints: Hints,
        join: object,
        list_operand: ListOperand,
        cache: dict[Any, Any],
        isolated: bool = False,
    ) -> None:
        self._recorder = recorder
        self._world = world
        self._arrivals = arrivals
        self._hints = hints
        self._join = join
        self._list_operand = list_operand
        self._cache = cache
        self._isolated = isolated
        self._memo: dict[tuple[int, ...], Any] = {}
        self._owners: list[dict[int, tuple[Any, ...]]] = [{} for _ in arrivals]
        self._images: dict[int, tuple[Any, Image]] = {}
        self._parameters: dict[Any, Parameter] = {}
        self._symbols: dict[tuple[Any, ...], Any] = {}
        self._profile: dict[Path, object] = {}
        self._partners: dict[Path, object] = {}
        self._new_hints = Hints()
        self._positions: dict[tuple[int, ...], tuple[Path, tuple[torch.Tensor, ...]]] = {}
        self._tensors: dict[tuple[int, ...], torch.Tensor] = {}
        self._listed: dict[Storage, set[Origin]] = {}
        self._collecting = True
        self._state = PathState.empty()
        self._pending_ranges: list[tuple[sympy.Symbol, int | None]] = []
        self._owned_extents: list[tuple[Path, int, Any]] = []

    # ---- the whole

    def run(self) -> Merged:
        self._walk_roots()
        self._merge_path_state()
        self._merge_tensors()
        self._collecting = False
        self._memo.clear()
        self._images.clear()
        self._owners = [{} for _ in self._arrivals]
        frames = self._walk_roots()
        snapshot = Snapshot(frames, self._images, self._state)
        return Merged(snapshot, list(self._parameters.values()), self._profile, self._partners, self._new_hints)

    def _walk_roots(self) -> tuple[Frame, ...]:
        frames = []
        for n, row in enumerate(zip(*(a.frames for a in self._arrivals), strict=True)):
            frames.append(self.unify(("frame", n), row))
        changed = dict(self._hints.changed)
        changed |= {i: value for a in self._arrivals for i, (value, _) in a.images.items() if value in self._world}
        self._new_hints.changed = changed
        for value in changed.values():
            self.unify(("world", self._world.names[id(value)]), (value,) * len(self._arrivals))
        return tuple(frames)

    def _image(self, arrival: int, value: Any) -> Image:
        found = self._arrivals[arrival].images.get(id(value))
        if found is not None:
            return found[1]
        if value in self._world:
            return self._world.baseline(value)
        return image_of(value)

    # ---- references

    def unify(self, path: Path, refs: tuple[Any, ...]) -> Any:
        first = refs[0]
        key = tuple(map(id, refs))
        if key in self._memo:
            return self._memo[key]
        if isinstance(first, torch.Tensor):
            return self._tensor(path, refs, key)
        if any(isinstance(r, HostList) for r in refs):
            return self._host_list(path, refs, key)
        if all(isinstance(r, (bool, int, float, StagedNumber)) for r in refs):
            return self._scalar(path, refs)
        if all(isinstance(r, (str, StagedStr)) for r in refs):
            return self._string(path, refs)
        if all(isinstance(r, StagedObject) for r in refs):
            if self._isolated:
                raise Mismatch(path, "a value that only the host program has would be kept between calls")
            return self._opaque(path, refs, OBJECT)
        if any(type(r) is not type(first) for r in refs):
            raise Mismatch(
                path,
                f"{_kind(first)} on one path, {_kind(next(r for r in refs if type(r) is not type(first)))} on another",
            )
        if is_atomic(first):
            if any(r is not first and not _equal(r, first) for r in refs):
                raise Mismatch(
                    path,
                    f"{_show(first)} on one path, {_show(next(r for r in refs if not _equal(r, first)))} on another",
                )
            return first
        if is_tracked(first):
            return self._object(path, refs, key)
        return self._immutable(path, refs, key)

    def _object(self, path: Path, refs: tuple[Any, ...], key: tuple[int, ...]) -> Any:
        first = refs[0]
        unchanged = all(r is first for r in refs) and first in self._world
        if unchanged and id(first) not in self._new_hints.changed:
            return first
        if first in self._world and not all(r is first for r in refs):
            raise Mismatch(path, f"different objects that existed before the call ({_kind(first)})")
        images = [self._image(n, r) for n, r in enumerate(refs)]
        if isinstance(first, IndexIter) and _is_concrete(images[0]) and len({i[1][1] for i in images}) > 1:
            raise Mismatch(path, "different iterations of an unrolled loop")
        if (
            type(first) is list
            and first not in self._world
            and (self._hints.leaves.get(path) == "vary" or len({len(i[0]) for i in images}) > 1)
        ):
            return self._host_list(path, refs, key)
        self._own(path, refs, key)
        self._memo[key] = first
        if isinstance(first, Frame):
            self._images[id(first)] = (first, self._frame(path, refs, images))
        else:
            self._images[id(first)] = (first, self._contents(path, images))
        return first

    def _own(self, path: Path, refs: tuple[Any, ...], key: tuple[int, ...]) -> None:
        """The same object on one arrival must be the same object on all."""
        for owner, ref in zip(self._owners, refs, strict=True):
            if owner.setdefault(id(ref), key) != key:
                raise Mismatch(path, f"one {_kind(ref)} on one path, several on another")

    def _contents(self, path: Path, images: list[Image]) -> Image:
        labels = images[0][0]
        if any(i[0] != labels for i in images):
            odd = next(i[0] for i in images if i[0] != labels)
            raise Mismatch(path, f"different contents: {_labels(labels)} on one path, {_labels(odd)} on another")
        rows = zip(*(i[1] for i in images), strict=True)
        return labels, tuple(self.unify((*path, label), row) for label, row in zip(labels, rows, strict=True))

    def _frame(self, path: Path, refs: tuple[Any, ...], images: list[Image]) -> Image:
        frame = refs[0]
        fields = [i[1][0] for i in images]
        pcs = {f[0] for f in fields}
        if len(pcs) > 1 or any(r.info is not frame.info for r in refs):
            raise Mismatch(path, "a generator that is suspended at different places")
        pc, current, _, heads, _, _, _, kw_names = fields[0]
        mode = self.unify((*path, "mode"), tuple(f[2] for f in fields))
        handled = self.unify((*path, "handled"), tuple(f[5] for f in fields))
        generator = self.unify((*path, "generator"), tuple(f[6] for f in fields))
        opened = frozenset().union(*(f[4] for f in fields))
        stacks = [i[1][1] for i in images]
        if len({len(s) for s in stacks}) > 1:
            raise Mismatch(path, "different pending temporaries")
        stack = tuple(self.unify((*path, "stack", n), row) for n, row in enumerate(zip(*stacks, strict=True)))
        names = frame.info.code.co_varnames
        live = frozenset().union(*(frame.info.live_at(pc, f[1]) for f in fields))
        slots: list[Any] = []
        for n, row in enumerate(zip(*(i[1][2] for i in images), strict=True)):
            label = names[n] if n < len(names) else n
            slots.append(self.unify((*path, label), row) if n in live else NULL)
        return images[0][0], ((pc, current, mode, heads, opened, handled, generator, kw_names), stack, tuple(slots))

    def _immutable(self, path: Path, refs: tuple[Any, ...], key: tuple[int, ...]) -> Any:
        first = refs[0]
        if isinstance(first, tuple):
            if len({len(r) for r in refs}) > 1:
                raise Mismatch(path, "tuples of different length")
            parts = [self.unify((*path, n), row) for n, row in enumerate(zip(*refs, strict=True))]
            if all(p is f for p, f in zip(parts, first, strict=True)):
                return first
            return StagedSize(parts) if type(first) is StagedSize else tuple.__new__(type(first), parts)
        pairs = [_parts(r) for r in refs]
        if any(p is None for p in pairs):
            if all(r is first for r in refs):
                return first
            raise Mismatch(path, f"different {_kind(first)} objects")
        if isinstance(first, types.FunctionType) and any(r.__code__ is not first.__code__ for r in refs):
            raise Mismatch(path, f"different functions: {first.__qualname__} and others")
        rows = zip(*(p[0] for p in pairs), strict=True)  # type: ignore[index]
        parts = [self.unify((*path, n), row) for n, row in enumerate(rows)]
        if all(p is f for p, f in zip(parts, pairs[0][0], strict=True)):  # type: ignore[index]
            return first
        return pairs[0][1](parts)  # type: ignore[index]

    # ---- scalars

    def _scalar(self, path: Path, refs: tuple[Any, ...]) -> Any:
        kinds = {scalar_type(r) for r in refs}
        if len(kinds) > 1:
            raise Mismatch(path, " on one path, ".join(str(k) for k in sorted(kinds, key=str)) + " on another")
        first = refs[0]
        hint = self._hints.leaves.get(path)
        if hint == "const" or hint != "vary":
            if all(not isinstance(r, Staged) and repr(r) == repr(first) for r in refs):
                return first
            same = all(isinstance(r, Staged) and r.operand == first.operand for r in refs)
            if same and not self._isolated:
                return first
        if hint == "const":
            raise Mismatch(
                path, f"{_show(first)} on one path, {_show(refs[-1])} on another, and it is needed as a constant"
            )
        return self._scalar_parameter(path, refs, next(iter(kinds)))

    def _scalar_parameter(self, path: Path, refs: tuple[Any, ...], kind: ScalarType) -> Any:
        operands = tuple(operand_of(r) for r in refs)
        key: Any = (kind, operands if kind != FLOAT else tuple(repr(o) for o in operands))
        if path in self._hints.unshared:
            key = (kind, path)
        is_data = path in self._hints.data or any(isinstance(r, Staged) and r.is_data for r in refs)
        if is_data:
            self._new_hints.data.add(path)
        found = self._parameters.get(key)
        if found is None:
            found = Parameter(self._value(path, kind), operands, path)
            self._parameters[key] = found
        self._profile[path] = (kind, is_data, found.path)
        self._partners[path] = found.path
        self._new_hints.leaves[path] = "vary"
        origins = frozenset({(self._join, path)})
        if kind != INT:
            return wrap(found.value, kind, is_data, origins)
        expressions: tuple[Any, ...] = tuple(expression(r) for r in refs)
        if path in self._hints.unshared:
            expressions = (*expressions, path)
        sym = self._symbols.get(expressions)
        if sym is None:
            sym = self._int_symbol(path, found.value, is_data, origins)
            self._symbols[expressions] = sym
        self._bound(path, sym, expressions[: len(refs)])
        return wrap(found.value, kind, is_data, origins, sym=sym)

    def _int_symbol(self, path: Path, value: Value, is_data: bool, origins: frozenset[Origin]) -> Any:
        key = ("sym", path, value.id, is_data)
        if key not in self._cache:
            self._cache[key] = self._recorder.int_symbol(value, is_data, origins)
        return self._cache[key]

    def _bound(self, path: Path, sym: Any, expressions: tuple[Any, ...]) -> None:
        """Learns that the number is not negative if it is so on every arrival."""
        lowest = min(
            (bound_sympy(e, dict(a.path.facts.ranges)).lower for e, a in zip(expressions, self._arrivals, strict=True)),
            default=sympy.Integer(0),
        )
        signed = path in self._hints.signed or not lowest >= 0
        if signed:
            self._new_hints.signed.add(path)
        self._profile[(*path, "signed")] = signed
        self._declare(sym, None if signed else 0)

    def _declare(self, sym: Any, lower: int | None) -> None:
        self._state.facts.declare(torch_adapter.expression_of(sym), lower)
        self._pending_ranges.append((torch_adapter.expression_of(sym), lower))

    def _string(self, path: Path, refs: tuple[Any, ...]) -> Any:
        first, hint = refs[0], self._hints.leaves.get(path)
        if hint != "vary" and all(isinstance(r, str) and r == first for r in refs):
            return first
        same = all(isinstance(r, StagedStr) and r.operand == operand_of(first) for r in refs)
        if hint == "const" and not (same and not self._isolated):
            raise Mismatch(path, f"{_show(first)} on one path, {_show(refs[-1])} on another")
        return self._opaque(path, refs, STR)

    def _opaque(self, path: Path, refs: tuple[Any, ...], kind: ScalarType) -> Any:
        """A string or another object of run time."""
        first = refs[0]
        operands = tuple(operand_of(r) for r in refs)
        if all(o == operands[0] for o in operands) and not self._isolated and self._hints.leaves.get(path) != "vary":
            return first
        found = self._parameters.setdefault((kind, operands), Parameter(self._value(path, kind), operands, path))
        self._profile[path] = kind
        self._new_hints.leaves[path] = "vary"
        return wrap(found.value, kind, True, frozenset({(self._join, path)}))

    def _value(self, path: Path, type_: Type) -> Value:
        key = (path, type_)
        if key not in self._cache:
            self._cache[key] = self._recorder.new_value(type_, _name(path))
        return self._cache[key]  # type: ignore[no-any-return]

    # ---- host lists

    def _host_list(self, path: Path, refs: tuple[Any, ...], key: tuple[int, ...]) -> Any:
        if not all(isinstance(r, HostList) or type(r) is list for r in refs):
            raise Mismatch(
                path, f"a list on one path, {_kind(next(r for r in refs if type(r) is not list))} on another"
            )
        contents = [self._list_image(n, r, path) for n, r in enumerate(refs)]
        same = all(isinstance(r, HostList) for r in refs) and all(c[1][0] == contents[0][1][0] for c in contents)
        same = same and not self._isolated
        if self._hints.leaves.get(path) in ("const", "keep") and not same:
            raise Mismatch(path, "lists of different length, and the length is needed as a constant")
        template = self._list_template(path, refs, contents)
        operands = []
        for n, (ref, image) in enumerate(zip(refs, contents, strict=True)):
            if isinstance(ref, HostList):
                operands.append(image[1][0])
            else:
                operands.append(self._list_operand(n, list(image[1]), template))
        self._own(path, refs, key)
        if same and self._hints.leaves.get(path) != "vary":
            self._memo[key] = refs[0]
            self._images[id(refs[0])] = (refs[0], contents[0])
            return refs[0]
        found = self._parameters.setdefault(
            ("list", tuple(operands)), Parameter(self._value(path, list_type_of(template)), tuple(operands), path)
        )
        self._profile[path] = ("list", template)
        self._new_hints.leaves[path] = "vary"
        if template is not None:
            self._new_hints.templates[path] = template
        origins = frozenset({(self._join, path)})
        merged = self._cache.setdefault(("list", path), HostList(found.value, template, origins))
        self._memo[key] = merged
        is_part = any(isinstance(r, HostList) and c[1][3] for r, c in zip(refs, contents, strict=True))
        self._images[id(merged)] = (merged, image_of(HostList(found.value, template, origins, is_part)))
        return merged

    def _list_image(self, arrival: int, ref: Any, path: Path) -> Image:
        image = self._image(arrival, ref)
        if isinstance(ref, HostList):
            return image
        return image[0], tuple(self._part(arrival, r, path, (n,)) for n, r in enumerate(image[1]))

    def _part(self, arrival: int, ref: Any, path: Path, at: Path) -> Any:
        """An element of the list ``path`` that becomes a host list, as it is in ``arrival``. Its tensors cannot be
        changed in place any more; lists in it become part of its value, so nothing else may know them."""
        if isinstance(ref, torch.Tensor):
            self._listed.setdefault(self._recorder.view_of(ref).storage, set()).add((self._join, path))
        if type(ref) is tuple:
            return tuple(self._part(arrival, r, path, (*at, n)) for n, r in enumerate(ref))
        if type(ref) is not list and not isinstance(ref, HostList):
            return ref
        contents = self._image(arrival, ref)[1]
        if not isinstance(ref, HostList) or not contents[3]:
            owner = ("part", *path, *at)
            if ref in self._world or self._owners[arrival].setdefault(id(ref), owner) != owner:
                raise Mismatch(path, "a list that is in a list of unknown length and elsewhere as well")
        if isinstance(ref, HostList):
            return HostList(*contents)
        return [self._part(arrival, r, path, (*at, n)) for n, r in enumerate(contents)]

    def _list_template(self, path: Path, refs: tuple[Any, ...], contents: list[Image]) -> Template | None:
        template = self._hints.templates.get(path)
        for ref, image in zip(refs, contents, strict=True):
            if isinstance(ref, HostList):
                of = image[1][1]
                joined = template.join(of) if template and of else template or of
                fits = joined is not None or of is None
            else:
                fits, joined = common_template(image[1], template)
            if not fits:
                raise Mismatch(path, "lists of different length with elements of different kinds")
            template = joined
        return template

    # ---- tensors

    def _tensor(self, path: Path, refs: tuple[Any, ...], key: tuple[Any, ...]) -> Any:
        key = (*key, self._hints.owners.get(path))
        if not self._collecting:
            return self._tensors[key]
        first = refs[0]
        for ref in refs:
            if not isinstance(ref, torch.Tensor):
                raise Mismatch(path, f"a tensor on one path, {_kind(ref)} on another")
            if ref.dtype != first.dtype or ref.dim() != first.dim():
                raise Mismatch(path, "tensors of different dtype or rank")
        self._new_hints.owners[path] = self._positions.setdefault(key, (path, refs))[0]
        return first

    def _merge_path_state(self) -> None:
        paths = [a.path for a in self._arrivals]
        state = self._state
        state.depth = max(p.depth for p in paths)
        if self._isolated:
            for symbol, lower in self._pending_ranges:
                state.facts.declare(symbol, lower)
            return
        state.facts = functools.reduce(lambda a, b: a.common(b), (p.facts for p in paths)).copy()
        for symbol, lower in self._pending_ranges:
            state.facts.declare(symbol, lower)
        state.decided = {k: v for k, v in paths[0].decided.items() if all(p.decided.get(k) is v for p in paths)}
        state.items = {k: v for k, v in paths[0].items.items() if all(k in p.items and p.items[k] is v for p in paths)}
        for p in paths:
            for storage, origins in p.conflicts.items():
                state.conflicts[storage] = state.conflicts.get(storage, frozenset()) | origins
            for storage, version in p.versions.items():
                state.versions[storage] = max(state.versions.get(storage, 0), version)

    def _merge_tensors(self) -> None:
        views = {k: tuple(self._recorder.view_of(t) for t in refs) for k, (_, refs) in self._positions.items()}
        if self._isolated:
            for p in (a.path for a in self._arrivals):
                for storage in p.versions:
                    if storage.external:
                        self._state.versions[storage] = 1
        conflicted = self._alias_conflicts(views)
        kept: set[Storage] = set()
        groups: dict[tuple[Any, ...], list[tuple[int, ...]]] = {}
        for key, row in views.items():
            if not self._varies(key, row) and (not self._isolated or row[0].storage.real is not None):
                self._tensors[key] = self._positions[key][1][0]
                kept.add(row[0].storage)
            else:
                groups.setdefault(self._pattern(key, row), []).append(key)
        for members in groups.values():
            for key in members:
                self._new_hints.groups[self._positions[key][0]] = self._positions[members[0]][0]
            self._merge_group(members, views, conflicted)
        externals = {s for a in self._arrivals for s in a.path.versions if s.external} | self._hints.storages.keys()
        for storage in kept | externals:
            self._merge_storage(storage, views)
        self._mark_conflicts(conflicted, views)
        self._mark_listed(views)

    def _varies(self, key: tuple[int, ...], row: tuple[View, ...]) -> bool:
        """Whether the arrivals have different tensors here, or had in an earlier round."""
        return not _same_view(row) or self._hints.leaves.get(self._positions[key][0]) == "vary"

    def _pattern(self, key: tuple[int, ...], row: tuple[View, ...]) -> tuple[Any, ...]:
        """Equal for tensors that share a storage on every arrival, and did so in earlier rounds."""
        path = self._positions[key][0]
        group = None if self._hints.leaves.get(path) == "keep" else self._hints.groups.get(path)
        return (group, *(id(v.storage) for v in row))

    def _alias_conflicts(
        self, views: dict[tuple[int, ...], tuple[View, ...]]
    ) -> dict[tuple[int, ...], frozenset[Origin]]:
        """Positions whose aliasing differs between arrivals, with the origins to blame."""
        conflicted: dict[tuple[int, ...], set[Origin]] = {}
        for n in range(len(self._arrivals)):
            sharing: dict[Storage, list[tuple[int, ...]]] = {}
            for key, row in views.items():
                sharing.setdefault(row[n].storage, []).append(key)
            for storage, keys in sharing.items():
                varying = [k for k in keys if self._varies(k, views[k])]
                patterns = {self._pattern(k, views[k]) for k in keys}
                if len(patterns) > 1 or (varying and (storage.external or len(varying) < len(keys))):
                    origins = {(self._join, self._positions[k][0]) for k in varying or keys}
                    for k in keys:
                        conflicted.setdefault(k, set()).update(origins)
        for key in conflicted:
            path = self._positions[key][0]
            if self._hints.leaves.get(path) == "keep" and self._varies(key, views[key]):
                raise Mismatch(
                    path, "a tensor that is shared on one path and not on another, and is changed in place later"
                )
        return {k: frozenset(o) for k, o in conflicted.items()}

    def _mark_conflicts(self, conflicted: dict[tuple[int, ...], frozenset[Origin]], views: Any) -> None:
        for key, origins in conflicted.items():
            storages = {self._recorder.view_of(self._tensors[key]).storage}
            storages |= {v.storage for v in views[key] if v.storage.external}
            for storage in storages:
                self._state.conflicts[storage] = self._state.conflicts.get(storage, frozenset()) | origins

    def _mark_listed(self, views: Any) -> None:
        """Tensors in lists that became host lists: those keep the contents of now."""
        conflicts, listed = self._state.conflicts, self._listed
        for storage, origins in listed.items():
            conflicts[storage] = conflicts.get(storage, frozenset()) | origins
        for key, row in views.items():
            own = self._recorder.view_of(self._tensors[key]).storage
            for storage in {v.storage for v in row} & listed.keys():
                conflicts[own] = conflicts.get(own, frozenset()) | listed[storage]

    def _merge_storage(self, storage: Storage, views: Any) -> None:
        """The contents of a storage that all arrivals know."""
        roots = {v.root() for row in views.values() for v in row if v.storage is storage}
        roots |= {v for a in self._arrivals for v in a.path.values if v.storage is storage and v.base is None}
        if storage in self._hints.storages:
            roots.add(self._hints.storages[storage])
        for root in roots:
            operands = tuple(self._current(a.path, root) for a in self._arrivals)
            path: Path = ("storage", storage.label if storage.label is not None else id(storage))
            forced = self._hints.leaves.get(path) == "vary" or (
                self._isolated and any(isinstance(o, Value) for o in operands)
            )
            version = self._state.versions.get(storage, 0)
            if not forced and all(o == operands[0] for o in operands):
                if operands[0] is not None:
                    self._state.values[root] = (version, operands[0])
                self._copy_views(storage)
                continue
            operands = tuple(self._initial(root) if o is None else o for o in operands)
            dtype = dtype_name(_root_dtype(self._recorder, root, operands))
            dims = tuple(n if isinstance(n, int) else None for n in root.shape)
            value = self._value(path, TensorType(dtype, dims))
            self._parameters[("storage", storage)] = Parameter(value, operands, path)
            self._profile[path] = "storage"
            self._new_hints.leaves[path] = "vary"
            if storage.external:
                self._new_hints.storages[storage] = root
            self._state.versions[storage] = version + 1
            self._state.values[root] = (version + 1, value)

    def _copy_views(self, storage: Storage) -> None:
        """Views whose contents all arrivals have already computed alike."""
        first = self._arrivals[0].path
        for view, (version, operand) in first.values.items():
            is_current = view.storage is storage and view.base is not None and version == first.version(storage)
            if is_current and all(self._current(a.path, view) == operand for a in self._arrivals):
                self._state.values[view] = (self._state.versions.get(storage, 0), operand)

    def _initial(self, root: View) -> Operand:
        return self._recorder.constants.constant(root.storage)

    @staticmethod
    def _current(path: PathState, view: View) -> Operand:
        found = path.values.get(view)
        return found[1] if found is not None and found[0] == path.version(view.storage) else None

    def _merge_group(self, members: list[tuple[int, ...]], views: Any, conflicted: Any) -> None:
        """Tensors that share a storage on every arrival."""
        rows = [views[k] for k in members]
        distinct = {(key[-1], *(id(v) for v in row)) for key, row in zip(members, rows, strict=True)}
        if len(distinct) == 1:
            merged = self._fresh_tensor(members[0], views[members[0]])
            # One tensor stands for what were several objects on some path: ``is`` cannot tell them apart any more.
            merged.__dict__["_toolchain_several"] = len(members) > 1
            for key in members:
                self._tensors[key] = merged
            return
        chains_agree = all(len({v.signature() for v in row}) == 1 for row in rows)
        if not chains_agree:
            self._merge_by_value(members, views, conflicted)
            return
        base = self._fresh_base(members[0], tuple(v.root() for v in rows[0]))
        for key, row in zip(members, rows, strict=True):
            self._tensors[key] = self._replay(base, row[0])

    def _merge_by_value(self, members: list[tuple[int, ...]], views: Any, conflicted: Any) -> None:
        """Different views of one storage: each becomes a tensor of its own, and none may be changed in place."""
        origins = frozenset((self._join, self._positions[k][0]) for k in members)
        if any(self._hints.leaves.get(path) == "keep" for _, path in origins):
            raise Mismatch(self._positions[members[0]][0], "different views of one tensor")
        merged: dict[tuple[Any, ...], torch.Tensor] = {}
        for key in members:
            row = (key[-1], *(id(v) for v in views[key]))
            if row not in merged:
                merged[row] = self._fresh_tensor(key, views[key])
            self._tensors[key] = merged[row]
            conflicted[key] = conflicted.get(key, frozenset()) | origins

    def _fresh_tensor(self, key: tuple[int, ...], row: tuple[View, ...]) -> torch.Tensor:
        path, refs = self._positions[key]
        operands = tuple(self._current(a.path, v) for a, v in zip(self._arrivals, row, strict=True))
        operands = tuple(self._constant_view(v) if o is None else o for o, v in zip(operands, row, strict=True))
        return self._parameter_tensor(path, refs[0].dtype, [tuple(r.shape) for r in refs], operands, refs)

    def _constant_view(self, view: View) -> Operand:
        if view.base is None and view.storage.real is not None:
            return self._recorder.constants.constant(view.storage)
        raise AssertionError("a live tensor without contents")

    def _fresh_base(self, key: tuple[int, ...], roots: tuple[View, ...]) -> torch.Tensor:
        path = (*self._positions[key][0], "base")
        operands = tuple(self._current(a.path, r) for a, r in zip(self._arrivals, roots, strict=True))
        operands = tuple(self._constant_view(r) if o is None else o for o, r in zip(operands, roots, strict=True))
        dtype = _root_dtype(self._recorder, roots[0], operands)
        if len({len(r.shape) for r in roots}) > 1:
            raise Mismatch(path, "views of tensors of different rank")
        return self._parameter_tensor(path, dtype, [r.shape for r in roots], operands, None)

    def _parameter_tensor(
        self, path: Path, dtype: torch.dtype, shapes: list[tuple[Any, ...]], operands: Any, refs: Any
    ) -> torch.Tensor:
        wanted = self._hints.dims.get(path, frozenset())
        shape: list[Any] = []
        dynamic: set[int] = set()
        for n, row in enumerate(zip(*shapes, strict=True)):
            extent = self._extent(path, n, row, n in wanted)
            shape.append(extent)
            if not isinstance(extent, int):
                dynamic.add(n)
        dims = tuple(None if n in dynamic else d for n, d in enumerate(shape))
        value = self._value(path, TensorType(dtype_name(dtype), dims))
        self._parameters[("tensor", path)] = Parameter(value, operands, path)
        self._profile[path] = (dtype, dims)
        self._new_hints.leaves[path] = "vary"
        self._new_hints.dims[path] = frozenset(dynamic)
        for owner, n, sym in self._owned_extents:
            if owner == path:
                self._recorder.symbols.define(torch_adapter.expression_of(sym), SymbolSource(value, n, False))
        strides = _strides(path, refs, shape) if refs is not None else None
        saved, self._recorder.state = self._recorder.state, self._state
        try:
            return fresh_root(self._recorder, tuple(shape), dtype, value, strides)
        finally:
            self._recorder.state = saved

    def _extent(self, path: Path, dim: int, row: tuple[Any, ...], wanted: bool) -> Any:
        expressions: tuple[Any, ...] = tuple(
            torch_adapter.expression_of(e) if torch_adapter.is_symbolic(e) else sympy.Integer(e) for e in row
        )
        if (
            not wanted
            and all(e == expressions[0] for e in expressions)
            and (expressions[0].is_Integer or not self._isolated)
        ):
            return row[0]
        if (*path, dim) in self._hints.unshared:
            expressions = (*expressions, path)
        if expressions not in self._symbols:
            key = ("extent", path, dim)
            if key not in self._cache:
                self._cache[key] = torch_adapter.new_int(self._recorder.fake_mode)
                torch_adapter.forget_fresh_symbols(self._recorder.fake_mode)
            self._symbols[expressions] = self._cache[key]
            self._owned_extents.append((path, dim, self._cache[key]))
        sym = self._symbols[expressions]
        self._profile[(*path, dim)] = self._partners[(*path, dim)] = str(sym)
        self._state.facts.declare(torch_adapter.expression_of(sym), 0)
        return sym

    def _replay(self, base: torch.Tensor, view: View) -> torch.Tensor:
        """The view ``view`` of another storage, on ``base``."""
        tensor, current = base, self._recorder.view_of(base)
        for step in view.chain():
            with self._recorder.paused(), self._recorder.fake_mode:
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


def _is_concrete(image: Image) -> bool:
    return IndexIter(image[1][0]).is_concrete


def _root_dtype(recorder: Recorder, root: View, operands: Any) -> torch.dtype:
    if root.storage.real is not None:
        return root.storage.real.dtype
    operand = next(o for o in operands if o is not None)
    return getattr(torch, operand.type.dtype)  # type: ignore[no-any-return]


def _strides(path: Path, refs: tuple[torch.Tensor, ...], shape: list[Any]) -> Any:
    """The strides of the merged tensor, where they are not those of a contiguous one."""
    if any(not isinstance(n, int) for r in refs for n in (*r.shape, *r.stride())):
        return None
    contiguous = [r.is_contiguous() for r in refs]
    if all(contiguous) or any(not isinstance(n, int) for n in shape):
        return None
    strides = {tuple(r.stride()) for r in refs}
    if len(strides) > 1:
        raise Mismatch(path, "tensors of different memory layout")
    return strides.pop()


def _parts(value: Any) -> tuple[tuple[Any, ...], Callable[[list[Any]], Any]] | None:
    """The references in an immutable object, and how to make one like it from others."""
    if isinstance(value, slice):
        return (value.start, value.stop, value.step), lambda p: slice(*p)
    if isinstance(value, types.MethodType):
        return (value.__self__, value.__func__), lambda p: types.MethodType(p[1], p[0])
    if isinstance(value, functools.partial):
        return (value.func, value.args, value.keywords), lambda p: functools.partial(p[0], *p[1], **p[2])
    if isinstance(value, types.FunctionType):
        return (value.__closure__, value.__defaults__, value.__kwdefaults__), lambda p: _function_like(value, *p)
    if isinstance(value, StagedRange):
        return (value.start, value.length, value.step), lambda p: _range_like(*p)
    if isinstance(value, GeneratorMethod):
        return (value.generator,), lambda p: GeneratorMethod(p[0], value.name)
    if isinstance(value, ListMethod):
        return (value.items,), lambda p: ListMethod(p[0], value.name)
    if isinstance(value, Array):
        return (value.tensor,), lambda p: type(value)(p[0])
    return None


def _function_like(function: types.FunctionType, closure: Any, defaults: Any, kwdefaults: Any) -> types.FunctionType:
    made = types.FunctionType(function.__code__, function.__globals__, function.__name__, defaults, closure)
    made.__kwdefaults__ = kwdefaults
    made.__qualname__ = function.__qualname__
    return made


def _range_like(start: Any, length: Any, step: Any) -> StagedRange:
    made = StagedRange.__new__(StagedRange)
    made.start, made.length, made.step = start, length, step
    return made


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, (types.ModuleType, types.CodeType, types.BuiltinFunctionType, type)):
        return False
    return bool(type(a) is type(b) and a == b)


def _kind(value: Any) -> str:
    return (
        "None" if value is None else "nothing" if value is NULL or value is EMPTY_CELL else f"a {type(value).__name__}"
    )


def _show(value: Any) -> str:
    return "a run-time value" if isinstance(value, Staged) else "nothing" if value is NULL else repr(value)[:60]


def _labels(labels: tuple[Any, ...]) -> str:
    return "[" + ", ".join(str(label[1] if isinstance(label, tuple) else label) for label in labels)[:80] + "]"


def _name(path: Path) -> str:
    words = [
        str(p[1] if isinstance(p, tuple) and len(p) > 1 else p) for p in path if p not in ("frame", "world", "stack")
    ]
    name = "_".join(w for w in words if not w.isdigit())[-24:]
    return "".join(c if c.isalnum() else "_" for c in name).strip("_")
