"""Random calls like the examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from runtime_py.format import Manifest
from runtime_py.signature import select_entry
from toolchain.frontend import Dynamic as Marker
from toolchain.frontend.entries import rebuild
from toolchain.options import Example
from toolchain.recording import call_arguments, replace_markers

Leaf = Any
"""A tensor or a marked number of an example."""


def entry_of(manifest: Manifest, example: Example) -> int:
    """Index of the entry that a call is meant for. Raises ``InputError`` if there is none."""
    return select_entry(manifest.entries, *call_arguments(example)).entry


@dataclass(frozen=True, slots=True)
class _Group:
    """The examples of one entry, as rows of leaves.

    classes: (leaf, dim) of every dim whose extent varies, to the number of its class: dims that have equal extents in
             every example stay equal.
    """

    examples: tuple[Example, ...]
    rows: tuple[tuple[Leaf, ...], ...]
    classes: Mapping[tuple[int, int], int]


class InputMaker:
    """Makes calls: floats from a normal distribution with the examples' mean and deviation, integers within the
    examples' range, bools by chance; extents that vary between examples are drawn from 1 to twice the largest."""

    def __init__(self, manifest: Manifest, examples: Sequence[Example], seed: int = 0) -> None:
        self._generator = torch.Generator().manual_seed(seed)
        grouped: dict[int, list[Example]] = {}
        for example in examples:
            grouped.setdefault(entry_of(manifest, example), []).append(example)
        self._groups = {entry: _group(members) for entry, members in grouped.items()}

    def draw(self, count: int) -> Iterator[Example]:
        """Calls of all entries in turn."""
        entries = list(self._groups)
        return (self.draw_entry(entries[n % len(entries)]) for n in range(count))

    def draw_entry(self, entry: int, extent: int | None = None, spread: int = 1) -> Example:
        """A call of one entry.

        extent: of all varying dims; None draws each. spread: how far numbers may go beyond those of the examples.
        """
        group = self._groups[entry]
        extents = [
            self._integer(1, 2 * self._largest(group, number)) if extent is None else extent
            for number in range(len(set(group.classes.values())))
        ]
        base = self._integer(0, len(group.examples) - 1)
        leaves = iter([self._leaf(group, at, extents, base, spread) for at in range(len(group.rows[0]))])
        return _with_leaves(group.examples[base], lambda: next(leaves))

    def has_varying_extents(self, entry: int) -> bool:
        return entry in self._groups and bool(self._groups[entry].classes)

    def knows(self, entry: int) -> bool:
        return entry in self._groups

    @staticmethod
    def _largest(group: _Group, number: int) -> int:
        members = [place for place, other in group.classes.items() if other == number]
        extents: list[int] = [row[leaf].shape[dim] for row in group.rows for leaf, dim in members]
        return max(1, *extents)

    def _integer(self, low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=self._generator))

    def _leaf(self, group: _Group, at: int, extents: list[int], base: int, spread: int) -> Leaf:
        column = [row[at] for row in group.rows]
        if isinstance(column[0], Marker):
            return self._number([leaf.value for leaf in column])
        sizes = column[base].shape
        shape = [extents[group.classes[at, dim]] if (at, dim) in group.classes else n for dim, n in enumerate(sizes)]
        return self._tensor(column, shape, spread)

    def _number(self, values: list[Any]) -> int | float | bool:
        if isinstance(values[0], bool):
            return bool(self._integer(0, 1))
        if isinstance(values[0], int):
            return self._integer(min(values), max(values))
        return float(self._tensor([torch.tensor(v, dtype=torch.float64) for v in values], []))

    def _tensor(self, column: list[torch.Tensor], shape: list[int], spread: int = 1) -> torch.Tensor:
        known = torch.cat([tensor.detach().flatten() for tensor in column])
        dtype = known.dtype
        if dtype == torch.bool:
            return torch.rand(shape, generator=self._generator) < 0.5
        if dtype.is_floating_point:
            wide = known.double()
            wide = wide[wide.isfinite()]
            deviation, mean = torch.std_mean(wide, correction=0) if wide.numel() else (torch.ones(()), torch.zeros(()))
            return (torch.randn(shape, generator=self._generator, dtype=torch.float64) * deviation * spread + mean).to(
                dtype
            )
        low, high = (int(known.min()), int(known.max())) if known.numel() else (0, 0)
        beyond = (spread - 1) * (high - low + 1)
        low, high = max(low - beyond, torch.iinfo(dtype).min), min(high + beyond, torch.iinfo(dtype).max - 1)
        return torch.randint(low, high + 1, shape, generator=self._generator, dtype=dtype)


def _group(examples: list[Example]) -> _Group:
    rows = tuple(tuple(_leaves(example)) for example in examples)
    patterns: dict[tuple[int, ...], int] = {}
    classes: dict[tuple[int, int], int] = {}
    for at, leaf in enumerate(rows[0]):
        for dim in range(leaf.dim() if isinstance(leaf, torch.Tensor) else 0):
            pattern = tuple(row[at].shape[dim] for row in rows)
            if len(set(pattern)) > 1:
                classes[at, dim] = patterns.setdefault(pattern, len(patterns))
    return _Group(tuple(examples), rows, classes)


def _leaves(example: Example) -> list[Leaf]:
    found: list[Leaf] = []
    _rebuilt(example, lambda leaf, _: found.append(leaf))
    return found


def _with_leaves(example: Example, take: Callable[[], Leaf]) -> Example:
    args, kwargs = _rebuilt(example, lambda leaf, _: take())
    return Example(args, kwargs)


def _rebuilt(example: Example, leaf: Callable[[Leaf, str], Leaf]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    marked = replace_markers(example, lambda marker: Marker(marker.value))
    args, kwargs = rebuild(marked, leaf)
    return args, kwargs
