"""What rewritings share: rebuilding a subgraph operation by operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from toolchain.ir import (
    UNKNOWN_LOCATION,
    Argument,
    Constant,
    Subgraph,
    TensorOp,
    TensorType,
    Value,
    leaves,
    map_argument,
    operands_of,
    values_in,
)
from toolchain.ir.effects import is_deterministic


class Editor:
    """The old subgraph, and the operations of the new one so far.

    Iterating gives the old operations in order, with earlier replacements put in; each is then kept or replaced. New
    operations carry the source line of the old one whose place they take.
    """

    def __init__(self, subgraph: Subgraph) -> None:
        self._old = subgraph
        self._new: list[TensorOp] = []
        self._replaced: dict[Value, Value] = {}
        self._fixed: set[Value] = set()
        self._location = UNKNOWN_LOCATION
        used = (*subgraph.results, *(v for op in subgraph.operations for v in values_in(tuple(operands_of(op)))))
        self._uses = Counter(used)
        made = [v.id for op in subgraph.operations for v in op.results]
        self._ids = count(max([*made, *(p.id for p in subgraph.parameters)], default=-1) + 1)
        self.makers: dict[Value, TensorOp] = {}

    def __iter__(self) -> Iterator[TensorOp]:
        for op in self._old.operations:
            self._location = op.location
            args = map_argument(op.args, self.current)
            yield replace(op, args=args, kwargs=tuple((k, map_argument(a, self.current)) for k, a in op.kwargs))

    def current(self, leaf: Argument) -> Argument:
        """What stands for ``leaf`` of the old subgraph now."""
        return self._replaced.get(leaf, leaf) if isinstance(leaf, Value) else leaf

    def uses(self, value: Value) -> int:
        """How often the old subgraph reads or returns ``value``."""
        return self._uses[value]

    def is_fixed(self, *operands: Argument) -> bool:
        """Whether weights and literals alone decide about the operands."""
        return self._fixed.issuperset(values_in(operands))

    def keep(self, op: TensorOp) -> None:
        self._new.append(op)
        self.makers.update(dict.fromkeys(op.results, op))
        if is_deterministic(op) and self.is_fixed(*operands_of(op)):
            self._fixed.update(op.results)

    def emit(self, target: str, dims: Sequence[int], first: Argument, *others: Argument) -> Value:
        """Adds an operation with one result, of extents ``dims`` and the dtype of the (first) tensor ``first``."""
        tensor = first[0] if isinstance(first, tuple) else first
        result = Value(next(self._ids), TensorType(tensor.type.dtype, tuple(dims)))
        self.keep(TensorOp(target, (first, *others), (), (result,), self._location))
        return result

    def emit_like(self, op: TensorOp, args: Argument, kwargs: Argument, dims: Sequence[int]) -> Value:
        """Adds ``op`` with other arguments, and a result of extents ``dims``."""
        [old] = op.results
        assert isinstance(old.type, TensorType)
        result = Value(next(self._ids), TensorType(old.type.dtype, tuple(dims)))
        self.keep(replace(op, args=args, kwargs=tuple(kwargs.items()), results=(result,)))
        return result

    def replace(self, old: Value, new: Value) -> None:
        """Later operations, and the subgraph, use ``new`` where they used ``old``."""
        self._replaced[old] = new

    def finish(self) -> Subgraph:
        """The new subgraph, without operations that nothing needs; its weights are the old ones."""
        results: list[Value] = []
        for old in self._old.results:
            new = self._replaced.get(old, old)
            # A subgraph returns neither a parameter nor a value twice.
            results.append(self._copy(new) if new in results or new not in self.makers else new)
        needed, kept = set(results), []
        for op in reversed(self._new):
            if not needed.isdisjoint(op.results):
                needed.update(values_in(tuple(operands_of(op))))
                kept.append(op)
        return replace(self._old, operations=tuple(reversed(kept)), results=tuple(results))

    def _copy(self, value: Value) -> Value:
        result = replace(value, id=next(self._ids))
        self.keep(TensorOp("aten.clone.default", (value,), (), (result,), self._location))
        return result


def is_static(*operands: Argument) -> bool:
    """Whether all values and constants among the operands are tensors of known extents."""
    kinds = (x.type for x in leaves(operands) if isinstance(x, (Value, Constant)))
    return all(isinstance(kind, TensorType) and kind.is_static for kind in kinds)
