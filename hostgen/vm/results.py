"""How the nested result of a call becomes a flat list of the VM's results.

Numbers and tensors are results; ``None`` and texts belong to the shape of a result. Where returns differ in shape, the
first result says which shape it is, and shapes share the other results: each uses those that it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hostgen.vm.types import CROSSING, kind_of
from runtime_py.format import VmResult, VmShape
from toolchain.bundle.describe import describe_type, tree_of
from toolchain.ir import Operand, Raise, Return, Structure, Value, replace_leaves, structure_leaves
from toolchain.ir.signatures import type_of


@dataclass(frozen=True, slots=True)
class Layout:
    """The results of an entry.

    shapes:  of all its returns, each once.
    kinds:   of the results that hold leaves (keys of ``CROSSING``).
    mutated: indices of the inputs whose new values are the last results.
    """

    shapes: tuple[VmShape, ...]
    kinds: tuple[str, ...]
    mutated: tuple[int, ...]

    @property
    def types(self) -> list[str]:
        """MLIR types of all results."""
        which = ["i64"] if len(self.shapes) > 1 else []
        return which + [CROSSING[kind] for kind in (*self.kinds, *["tensor"] * len(self.mutated))]

    @property
    def described(self) -> VmResult:
        return VmResult(self.shapes, self.mutated)


def lay_out(endings: Iterable[Return | Raise]) -> Layout:
    """The layout for the ways in which an entry may end. Raises ``Inexpressible`` for a text computed at run time."""
    endings = tuple(endings)
    kinds: list[str] = []
    shapes = dict.fromkeys(_shape(e.result, kinds) for e in endings if isinstance(e, Return))
    return Layout(tuple(shapes), tuple(kinds), tuple(sorted({i for e in endings for i, _ in e.mutated})))


def shape_of(result: Structure, layout: Layout) -> int:
    return layout.shapes.index(_shape(result, list(layout.kinds)))


def values_of(result: Structure) -> Iterator[Operand]:
    """The leaves of ``result`` that are results of the call."""
    return (leaf for leaf in structure_leaves(result) if _is_value(leaf))


def _is_value(leaf: Operand) -> bool:
    return leaf is not None and not isinstance(leaf, str)


def _shape(result: Structure, kinds: list[str]) -> VmShape:
    """The shape of ``result``; adds to ``kinds`` what earlier shapes had no room for."""
    columns: list[int] = []
    types = [type_of(leaf) for leaf in values_of(result)]
    for kind in map(kind_of, types):
        free = [i for i, k in enumerate(kinds) if k == kind and i not in columns]
        columns.append(free[0] if free else len(kinds))
        kinds += [] if free else [kind]
    described = tuple(describe_type(t) for t in types if t is not None)
    return VmShape(tree_of(_anonymous(result)), tuple(columns), described)


def _anonymous(result: Structure) -> Structure:
    """``result`` with the same stand-in for every value, so that equal shapes are equal."""
    leaves = structure_leaves(result)
    return replace_leaves(result, (_STAND_IN if _is_value(leaf) else leaf for leaf in leaves))


_STAND_IN = Value(-1, type_of(0))  # type: ignore[arg-type]
