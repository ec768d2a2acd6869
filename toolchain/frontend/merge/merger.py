"""The walk over the arrivals' heaps that merges them."""

from __future__ import annotations

import types
from typing import Any

import torch

from toolchain.frontend.heap import Image, Snapshot, World, is_atomic, is_bound, is_tracked
from toolchain.frontend.machine.border import StagedSize
from toolchain.frontend.machine.frame import NULL, Frame, IndexIter
from toolchain.frontend.merge.heaps import Heaps
from toolchain.frontend.merge.hints import Conflicts, Hints, Mismatch, OtherIteration, Path
from toolchain.frontend.merge.host_lists import HostListMerger, ListOperand
from toolchain.frontend.merge.immutables import is_equal, parts_of
from toolchain.frontend.merge.join import Join, Merged
from toolchain.frontend.merge.scalars import ScalarMerger
from toolchain.frontend.merge.tensors import TensorMerger
from toolchain.frontend.merge.wording import kind_of, show, show_labels
from toolchain.frontend.numbers import StagedNumber
from toolchain.frontend.recorder import Recorder
from toolchain.frontend.staged import HostList, StagedObject, StagedStr


class Merger:
    """One merge. ``key``: identifies the join in the origins of its arguments. ``is_head``: of a loop. ``isolated``: no
    value of an arrival is visible at the join (the state between calls), so everything but constants is an argument."""

    def __init__(
        self,
        recorder: Recorder,
        world: World,
        arrivals: list[Snapshot],
        hints: Hints,
        key: object,
        list_operand: ListOperand,
        cache: dict[Any, Any],
        conflicts: Conflicts,
        is_head: bool = False,
        isolated: bool = False,
    ) -> None:
        self._is_head = is_head
        self._join = Join(recorder, arrivals, hints, key, cache, conflicts, isolated)
        self._heaps = Heaps(world, arrivals)
        self._scalars = ScalarMerger(self._join)
        self._host_lists = HostListMerger(self._join, self._heaps, list_operand)
        self._tensors = TensorMerger(self._join)

    def run(self) -> Merged:
        join = self._join
        self._compare_iterations()
        self._walk_roots()
        join.merge_paths(self._scalars.ranges)
        self._tensors.merge(self._host_lists.shared)
        self._heaps.restart()
        frames = self._walk_roots()
        snapshot = Snapshot(frames, self._heaps.images, join.state)
        return Merged(
            snapshot, list(join.parameters.values()), join.profile, join.partners, join.new_hints, join.conflicts
        )

    def _compare_iterations(self) -> None:
        """Different iterations of an unrolled loop are told apart before the walk: most arrivals that do not fit."""
        first, *others = (a.images for a in self._join.arrivals)
        for i, (value, image) in first.items():
            if isinstance(value, IndexIter) and _is_concrete(image):
                positions = [image[1][1], *(images[i][1][1][1] for images in others if i in images)]
                if len(set(positions)) > 1:
                    raise OtherIteration

    def _walk_roots(self) -> tuple[Frame, ...]:
        join, world = self._join, self._heaps.world
        join.new_hints.changed = {}  # objects of the world come last, so that both walks find them on the same paths
        frames = []
        for n, row in enumerate(zip(*(a.frames for a in join.arrivals), strict=True)):
            frames.append(self.unify(("frame", n), row))
        changed = dict(join.hints.changed)
        changed |= {i: value for a in join.arrivals for i, (value, _) in a.images.items() if value in world}
        join.new_hints.changed = changed
        for value in changed.values():
            self.unify(("world", world.names[id(value)]), (value,) * len(join.arrivals))
        return tuple(frames)

    def unify(self, path: Path, refs: tuple[Any, ...]) -> Any:
        first = refs[0]
        key = tuple(map(id, refs))
        if key in self._heaps.memo:
            return self._heaps.memo[key]
        if isinstance(first, torch.Tensor):
            return self._tensors.visit(path, refs, key)
        if any(isinstance(r, HostList) for r in refs):
            return self._host_lists.merge(path, refs, key)
        if all(isinstance(r, (bool, int, float, StagedNumber)) for r in refs):
            return self._scalars.number(path, refs)
        if all(isinstance(r, (str, StagedStr)) for r in refs):
            return self._scalars.string(path, refs)
        if all(isinstance(r, StagedObject) for r in refs):
            return self._scalars.object(path, refs)
        if any(type(r) is not type(first) for r in refs):
            odd = next(r for r in refs if type(r) is not type(first))
            raise Mismatch(path, f"{kind_of(first)} on one path, {kind_of(odd)} on another")
        if is_atomic(first):
            if any(r is not first and not is_equal(r, first) for r in refs):
                odd = next(r for r in refs if not is_equal(r, first))
                raise Mismatch(path, f"{show(first)} on one path, {show(odd)} on another")
            return first
        if is_tracked(first):
            return self._object(path, refs, key)
        return self._immutable(path, refs, key)

    def _object(self, path: Path, refs: tuple[Any, ...], key: tuple[int, ...]) -> Any:
        first = refs[0]
        unchanged = all(r is first for r in refs) and first in self._heaps.world
        if unchanged and id(first) not in self._join.new_hints.changed:
            return first
        if first in self._heaps.world and not all(r is first for r in refs):
            raise Mismatch(path, f"different objects that existed before the call ({kind_of(first)})")
        images = [self._heaps.image(n, r) for n, r in enumerate(refs)]
        if isinstance(first, IndexIter) and _is_concrete(images[0]) and len({i[1][1] for i in images}) > 1:
            raise OtherIteration
        if (
            type(first) is list
            and first not in self._heaps.world
            and (self._join.hints.leaves.get(path) == "vary" or len({len(i[0]) for i in images}) > 1)
        ):
            return self._host_lists.merge(path, refs, key)
        self._heaps.own(path, refs, key)
        self._heaps.memo[key] = first
        if isinstance(first, Frame):
            self._heaps.images[id(first)] = (first, self._frame(path, refs, images))
        else:
            self._heaps.images[id(first)] = (first, self._contents(path, images))
        return first

    def _contents(self, path: Path, images: list[Image]) -> Image:
        labels = images[0][0]
        if any(i[0] != labels for i in images):
            odd = next(i[0] for i in images if i[0] != labels)
            raise Mismatch(
                path, f"different contents: {show_labels(labels)} on one path, {show_labels(odd)} on another"
            )
        rows = zip(*(i[1] for i in images), strict=True)
        return labels, tuple(self.unify((*path, label), row) for label, row in zip(labels, rows, strict=True))

    def _frame(self, path: Path, refs: tuple[Any, ...], images: list[Image]) -> Image:
        frame = refs[0]
        fields = [i[1][0] for i in images]
        pcs = {f[0] for f in fields}
        if len(pcs) > 1 or any(r.info is not frame.info for r in refs):
            raise Mismatch(path, "a generator that is suspended at different places")
        if not self._is_head and len({_iterations(r, f) for r, f in zip(refs, fields, strict=True)}) > 1:
            # Paths that meet here would go on in the middle of a loop that one of them has not entered.
            raise Mismatch(path, "a generator that is suspended in different iterations")
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
            return _tuple_like(first, parts)
        pairs = [parts_of(r) for r in refs]
        if any(p is None for p in pairs):
            if all(r is first for r in refs):
                return first
            raise Mismatch(path, f"different {kind_of(first)} objects")
        if isinstance(first, types.FunctionType) and any(r.__code__ is not first.__code__ for r in refs):
            raise Mismatch(path, f"different functions: {first.__qualname__} and others")
        if is_bound(first) and any(r.__name__ != first.__name__ for r in refs):
            raise Mismatch(path, f"different functions: {first.__name__} and others")
        rows = zip(*(p[0] for p in pairs), strict=True)  # type: ignore[index]
        parts = [self.unify((*path, n), row) for n, row in enumerate(rows)]
        if all(p is f for p, f in zip(parts, pairs[0][0], strict=True)):  # type: ignore[index]
            return first
        return pairs[0][1](parts)  # type: ignore[index]


def _iterations(frame: Frame, fields: tuple[Any, ...]) -> frozenset[tuple[int, object]]:
    """What the heads of the loops that a frame is suspended in are, or how often they were visited."""
    pc, heads = fields[0], fields[3]
    around = {h: entry for h, entry in heads.items() if pc in frame.info.heads[h]}
    return frozenset((h, visits if node is None else node) for h, (node, _, visits) in around.items())


def _tuple_like(first: tuple[Any, ...], parts: list[Any]) -> tuple[Any, ...]:
    """A tuple of the type of ``first``; PyTorch's named results (``torch.return_types``) only have a constructor."""
    kind = type(first)
    made = kind is StagedSize or hasattr(kind, "n_sequence_fields")
    return kind(parts) if made else tuple.__new__(kind, parts)


def _is_concrete(image: Image) -> bool:
    return IndexIter(image[1][0]).is_concrete
