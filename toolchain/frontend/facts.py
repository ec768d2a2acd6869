"""What one path knows about integers that are only known at run time."""

from __future__ import annotations

from typing import Any

import sympy
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.solve import try_solve
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy


class Facts:
    """Truths that the decisions of a path established: exact expressions, and a range for each symbol."""

    __slots__ = ("known", "ranges")

    def __init__(self, known: dict[sympy.Basic, bool] | None = None, ranges: dict[sympy.Symbol, Any] | None = None):
        self.known = known or {}
        self.ranges = ranges or {}

    def copy(self) -> Facts:
        return Facts(dict(self.known), dict(self.ranges))

    def declare(self, symbol: sympy.Symbol, lower: int | None = None, upper: int | None = None) -> None:
        low = -int_oo if lower is None else sympy.Integer(lower)
        high = int_oo if upper is None else sympy.Integer(upper)
        self.ranges[symbol] = ValueRanges(low, high)

    def evaluate(self, expr: sympy.Basic) -> bool | None:
        """The truth of a boolean expression on this path, or None."""
        if expr in (sympy.true, sympy.false):
            return bool(expr)
        if expr in self.known:
            return self.known[expr]
        bound = bound_sympy(expr, {s: self.ranges[s] for s in expr.free_symbols if s in self.ranges})
        if bound.is_singleton():
            return bool(bound.lower)
        return None

    def constant(self, expr: sympy.Basic) -> int | None:
        """The only value that an integer expression can have on this path, or None."""
        if expr.is_Integer:
            return int(expr)
        bound = bound_sympy(expr, {s: self.ranges[s] for s in expr.free_symbols if s in self.ranges})
        return int(bound.lower) if bound.is_singleton() and bound.lower.is_Integer else None

    def are_equal(self, a: sympy.Basic, b: sympy.Basic) -> bool:
        """Whether two integer expressions are known to have the same value on this path."""
        value = self.constant(a)
        return a == b or (value is not None and value == self.constant(b)) or self.known.get(sympy.Eq(a, b)) is True

    def learn(self, expr: sympy.Basic, truth: bool) -> None:
        self.known[expr] = truth
        negated = sympy.Not(expr)
        self.known[negated] = not truth
        self._narrow(expr if truth else negated)

    def _narrow(self, relation: sympy.Basic) -> None:
        if not isinstance(relation, sympy.core.relational.Relational) or len(relation.free_symbols) != 1:
            return
        (symbol,) = relation.free_symbols
        solved = try_solve(relation, symbol)
        if solved is None or not solved[1].is_Integer:
            return
        kind, bound = type(solved[0]), solved[1]
        old = self.ranges.get(symbol, ValueRanges(-int_oo, int_oo))
        low, high = old.lower, old.upper
        if kind is sympy.Eq:
            low = high = bound
        elif kind is sympy.Ne:
            low = low + 1 if low == bound else low
            high = high - 1 if high == bound else high
        elif kind in (sympy.Ge, sympy.Gt):
            low = max(low, bound + (kind is sympy.Gt))
        elif kind in (sympy.Le, sympy.Lt):
            high = min(high, bound - (kind is sympy.Lt))
        if low <= high:
            self.ranges[symbol] = ValueRanges(low, high)

    def common(self, other: Facts) -> Facts:
        """What holds on both paths."""
        known = {e: t for e, t in self.known.items() if other.known.get(e) is t}
        ranges = {s: r | other.ranges[s] for s, r in self.ranges.items() if s in other.ranges}
        return Facts(known, ranges)
