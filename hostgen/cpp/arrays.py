"""Constant arrays of generated tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hostgen.statements import LINE_LENGTH

# Types whose elements are single words.
_WORDS = frozenset({"const char*", "toolchain::DType", "int64_t", "uint32_t"})


@dataclass(frozen=True, slots=True)
class Array:
    name: str
    type: str
    items: tuple[str, ...]

    @property
    def text(self) -> str:
        """Its definition; objects get a line each."""
        start = f"constexpr {self.type} {self.name}[] = {{"
        if self.type in _WORDS:
            line = f"{start}{', '.join(self.items)}}};"
            return "\n".join(textwrap.wrap(line, LINE_LENGTH, subsequent_indent="    ", break_on_hyphens=False))
        return "\n".join([start, *(f"    {item}," for item in self.items), "};"])


class Arrays:
    """Names arrays; equal ones are one. Iterates over them in the order in which they were made."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, tuple[str, ...]], str] = {}

    def make(self, type: str, items: Iterable[str]) -> str:
        """The name of the array of ``items``, or an empty initialiser: C++ has no arrays without elements."""
        key = (type, tuple(items))
        if not key[1]:
            return "{}"
        return self._names.setdefault(key, f"kTable{len(self._names)}")

    def __iter__(self) -> Iterator[Array]:
        return (Array(name, *key) for key, name in self._names.items())
