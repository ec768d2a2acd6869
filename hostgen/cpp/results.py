"""What an entry returns, as one C++ type for all of its returns, and the expressions that make it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hostgen.cpp.names import RESERVED
from hostgen.cpp.types import cpp_type
from hostgen.names import distinct_names
from toolchain.ir import Leaf as LeafNode
from toolchain.ir import ListType, Mapping, Object, Operand, Structure, Type
from toolchain.ir.signatures import type_of


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value of one type; None stands for Python's ``None``."""

    type: Type | None

    @property
    def text(self) -> str:
        return cpp_type(self.type)


@dataclass(frozen=True, slots=True)
class Tuple:
    """A fixed number of items: Python's tuples, and lists and sets of known length."""

    items: tuple[ResultType, ...]

    @property
    def text(self) -> str:
        return f"std::tuple<{', '.join(item.text for item in self.items)}>"


@dataclass(frozen=True, slots=True)
class Struct:
    """Named members: dicts and objects. origin: what the user's program makes."""

    text: str
    origin: str
    members: tuple[str, ...]
    items: tuple[ResultType, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of several types, by the path that the program took."""

    items: tuple[ResultType, ...]

    @property
    def text(self) -> str:
        present = [item.text for item in self.items if item != Leaf(None)]
        if len(present) == 1:
            return f"std::optional<{present[0]}>"
        return f"std::variant<{', '.join(item.text for item in self.items)}>"


ResultType: TypeAlias = Leaf | Tuple | Struct | Either


class ResultTypes:
    """Finds types for results, and names for the structs among them.

    new_name: a wish -> a name that the generated class does not use yet.
    """

    def __init__(self, new_name: Callable[[str], str]) -> None:
        self._new_name = new_name
        self._known: dict[Hashable, Struct] = {}

    @property
    def structs(self) -> tuple[Struct, ...]:
        """All structs so far; each after those that it is made of."""
        return tuple(self._known.values())

    def of(self, trees: Sequence[Structure]) -> ResultType:
        """The type of a place where the results ``trees`` were found."""
        shapes: dict[Hashable, list[Structure]] = {}
        for tree in trees:
            shapes.setdefault(_shape(tree), []).append(tree)
        found = {t.text: t for alike in shapes.values() for t in self._of_shape(alike)}
        choices = _without_empty_lists(tuple(found.values()))
        return choices[0] if len(choices) == 1 else Either(choices)

    def _of_shape(self, trees: list[Structure]) -> Iterator[ResultType]:
        first = trees[0]
        if isinstance(first, LeafNode):
            yield from (Leaf(type_of(tree.operand)) for tree in trees if isinstance(tree, LeafNode))
            return
        columns = zip(*(tree.items for tree in trees if not isinstance(tree, LeafNode)), strict=True)
        items = tuple(self.of(column) for column in columns)
        yield self._struct(first, items) if isinstance(first, (Mapping, Object)) else Tuple(items)

    def _struct(self, tree: Mapping | Object, items: tuple[ResultType, ...]) -> Struct:
        key = (_shape(tree), items)
        if key not in self._known:
            name = tree.qualname.rpartition(".")[2] if isinstance(tree, Object) else "Dict"
            origin = f"{tree.module}.{tree.qualname}" if isinstance(tree, Object) else "a dict"
            self._known[key] = Struct(self._new_name(name), origin, _members(tree), items)
        return self._known[key]


def _members(tree: Mapping | Object) -> tuple[str, ...]:
    """Names of the struct's members, after the keys or attributes."""
    wishes = tree.fields if isinstance(tree, Object) else tuple(map(str, tree.keys))
    return tuple(distinct_names(wishes, RESERVED))


def _shape(tree: Structure) -> Hashable:
    """Equal for results of which the items correspond to each other."""
    match tree:
        case LeafNode():
            return "leaf"
        case Mapping():
            return ("dict", tuple(map(repr, tree.keys)))
        case Object():
            return (tree.module, tree.qualname, tree.fields)
        case _:
            return len(tree.items)


def _without_empty_lists(choices: tuple[ResultType, ...]) -> tuple[ResultType, ...]:
    """A list that is always empty is a list of any other type, too."""
    lists = [c for c in choices if isinstance(c, Leaf) and isinstance(c.type, ListType)]
    empty = Leaf(ListType(None))
    return tuple(c for c in choices if c != empty) if len(lists) > 1 else choices


@dataclass(frozen=True, slots=True)
class Output:
    """What an entry returns, and what the generated class calls that type."""

    name: str
    type: ResultType


# Prints an operand as a value of a type.
_Printer: TypeAlias = Callable[[Operand, Type | None], str]


def result_expression(output: Output, tree: Structure, leaf: _Printer) -> str:
    """``tree`` as an expression of type ``output``."""
    text = _expression(output.type, tree, leaf)
    # Tuples have long names, of which the output's is short for one.
    return output.name + text.removeprefix(output.type.text) if isinstance(output.type, Tuple) else text


def _expression(kind: ResultType, tree: Structure, leaf: _Printer) -> str:
    match kind, tree:
        case Either(items=choices), _:
            return f"{kind.text}{{{_chosen(choices, tree, leaf)}}}"
        case Leaf(type=wanted), LeafNode(operand=operand):
            return leaf(operand, wanted)
        case ((Tuple(items=items) | Struct(items=items)), _) if not isinstance(tree, LeafNode):
            texts = (_expression(i, t, leaf) for i, t in zip(items, tree.items, strict=True))
            return f"{kind.text}{{{', '.join(texts)}}}"
    raise AssertionError(f"{tree} is no {kind}")


def _chosen(choices: tuple[ResultType, ...], tree: Structure, leaf: _Printer) -> str:
    [choice] = [choice for choice in choices if _holds(choice, tree)]
    return "" if choice == Leaf(None) else _expression(choice, tree, leaf)


def _holds(kind: ResultType, tree: Structure) -> bool:
    match kind, tree:
        case Either(items=choices), _:
            return any(_holds(choice, tree) for choice in choices)
        case Leaf(type=wanted), LeafNode(operand=operand):
            actual = type_of(operand)
            is_empty_list = actual == ListType(None) and isinstance(wanted, ListType)
            return is_empty_list or cpp_type(actual) == cpp_type(wanted)
        case Tuple(items=items), _ if not isinstance(tree, (LeafNode, Mapping, Object)):
            return len(items) == len(tree.items) and all(map(_holds, items, tree.items))
        case Struct(items=items), (Mapping() | Object()):
            return len(items) == len(tree.items) and all(map(_holds, items, tree.items))
    return False
