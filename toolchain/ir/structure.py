"""Pytrees: how the arguments and the result of a call are nested. Leaves are operands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolchain.ir.values import Operand


@dataclass(frozen=True, slots=True)
class Leaf:
    """A tensor, scalar, host list (``ListType``) or literal (None, bool, int, float, str)."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Sequence:
    kind: Literal["tuple", "list", "set", "size"]
    items: tuple[Structure, ...]


@dataclass(frozen=True, slots=True)
class Mapping:
    """A dict. Keys are Python literals (str, int, bool, float, None or tuples of them), in order."""

    keys: tuple[object, ...]
    items: tuple[Structure, ...]


@dataclass(frozen=True, slots=True)
class Object:
    """An instance of a user's class, re-made on the host when ``module:qualname`` can be imported there.

    kind: "namedtuple" and "dataclass" are made by calling the class; "plain" by ``object.__new__`` and attributes.
    """

    kind: Literal["namedtuple", "dataclass", "plain"]
    module: str
    qualname: str
    fields: tuple[str, ...]
    items: tuple[Structure, ...]


Structure: TypeAlias = Leaf | Sequence | Mapping | Object


def structure_leaves(tree: Structure) -> Iterator[Operand]:
    """All operands of ``tree``, in order."""
    if isinstance(tree, Leaf):
        yield tree.operand
    else:
        for item in tree.items:
            yield from structure_leaves(item)


def replace_leaves(tree: Structure, leaves: Iterator[Operand]) -> Structure:
    """``tree`` with its operands replaced by those of ``leaves``, in order."""
    match tree:
        case Leaf():
            return Leaf(next(leaves))
        case Sequence():
            return Sequence(tree.kind, tuple(replace_leaves(i, leaves) for i in tree.items))
        case Mapping():
            return Mapping(tree.keys, tuple(replace_leaves(i, leaves) for i in tree.items))
        case Object():
            items = tuple(replace_leaves(i, leaves) for i in tree.items)
            return Object(tree.kind, tree.module, tree.qualname, tree.fields, items)
