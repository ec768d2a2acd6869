"""What a merge is told, and how it fails: leaves of the abstract state are named by their paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from toolchain.frontend.signals import Origin
from toolchain.frontend.storages import Storage, View
from toolchain.frontend.templates import Template

Path = tuple[Any, ...]
Hint = Literal["vary", "const", "keep"]
Conflicts = dict[Path | Storage, frozenset[Origin]]
"""Leaves (or storages from before the call) that must not be changed in place behind a join, and who is to blame."""


class Mismatch(Exception):
    """The arrivals cannot be merged; ``path`` leads to what differs."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


class OtherIteration(Mismatch):
    """The arrivals are in different iterations of an unrolled loop, of which there are only so many."""

    def __init__(self) -> None:
        super().__init__((), "different iterations of an unrolled loop")


@dataclass(slots=True)
class Hints:
    """What earlier rounds learnt about a join: leaves that vary, must be constant, or must keep their identity.

    dims: per tensor leaf the dimensions that vary. floors: lower bounds of integers, if known. own: integers that
    are not the same on all arrivals. data: leaves that stem from tensor elements on some arrival.
    changed: objects from before the call that differ on some arrival, by ``id``.
    unshared: leaves that share an argument only with those of the same group, which the first of them names.
    owners: per tensor leaf the leaf that it is one tensor with; groups: the leaf that it shares a storage with, if it
    varies.
    storages: those from before the call whose contents vary, with their root.
    """

    leaves: dict[Path, Hint] = field(default_factory=dict)
    dims: dict[Path, frozenset[int]] = field(default_factory=dict)
    floors: dict[Path, int | None] = field(default_factory=dict)
    own: set[Path] = field(default_factory=set)
    data: set[Path] = field(default_factory=set)
    templates: dict[Path, Template] = field(default_factory=dict)
    unshared: dict[Path, Path] = field(default_factory=dict)
    changed: dict[int, Any] = field(default_factory=dict)
    owners: dict[Path, Path] = field(default_factory=dict)
    groups: dict[Path, Path] = field(default_factory=dict)
    storages: dict[Storage, View] = field(default_factory=dict)
