"""The arrivals' heaps, walked side by side."""

from __future__ import annotations

from typing import Any

from toolchain.frontend.heap import Image, Snapshot, World, image_of
from toolchain.frontend.merge.hints import Mismatch, Path
from toolchain.frontend.merge.wording import kind_of


class Heaps:
    """world: what existed before the call. memo: what was merged already, by the ``id`` of its object on each arrival.
    images: the merged contents of tracked objects."""

    def __init__(self, world: World, arrivals: list[Snapshot]) -> None:
        self.world = world
        self._arrivals = arrivals
        self.memo: dict[tuple[int, ...], Any] = {}
        self.images: dict[int, tuple[Any, Image]] = {}
        self._owners: list[dict[int, tuple[Any, ...]]] = [{} for _ in arrivals]

    def restart(self) -> None:
        self.memo.clear()
        self.images.clear()
        for owners in self._owners:
            owners.clear()

    def image(self, arrival: int, value: Any) -> Image:
        """The contents of ``value`` on one arrival."""
        found = self._arrivals[arrival].images.get(id(value))
        if found is not None:
            return found[1]
        if value in self.world:
            return self.world.baseline(value)
        return image_of(value)

    def own(self, path: Path, refs: tuple[Any, ...], key: tuple[int, ...]) -> None:
        """The same object on one arrival must be the same object on all."""
        for owner, ref in zip(self._owners, refs, strict=True):
            if owner.setdefault(id(ref), key) != key:
                raise Mismatch(path, f"one {kind_of(ref)} on one path, several on another")

    def own_part(self, arrival: int, ref: Any, owner: tuple[Any, ...]) -> bool:
        """Whether nothing but ``owner`` knows the object on that arrival."""
        return ref not in self.world and self._owners[arrival].setdefault(id(ref), owner) == owner
