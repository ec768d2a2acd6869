"""Symbols of shape arithmetic and where their values come from at run time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import sympy
from torch.utils._sympy import functions as sf

from toolchain.frontend.context import NO_ORIGINS
from toolchain.frontend.signals import Origin, Unsupported
from toolchain.ir import BOOL, INT, Operand, ScalarType

Emit = Callable[[str, tuple[Operand, ...], ScalarType, tuple[object, ...]], Operand]


@dataclass(frozen=True, slots=True)
class SymbolSource:
    """A symbol is either a scalar operand, or the extent ``dim`` of a tensor.

    is_data: the number depends on tensor elements through ``.item()`` (extents, even data-dependent ones, don't count).
    """

    operand: Operand
    dim: int | None
    is_data: bool
    origins: frozenset[Origin] = NO_ORIGINS


class SymbolTable:
    def __init__(self) -> None:
        self._sources: dict[sympy.Symbol, SymbolSource] = {}

    def __contains__(self, symbol: sympy.Symbol) -> bool:
        return symbol in self._sources

    def define(self, symbol: sympy.Symbol, source: SymbolSource) -> None:
        self._sources[symbol] = source

    def is_data(self, expr: sympy.Basic) -> bool:
        return any(self._sources[s].is_data for s in expr.free_symbols)

    def origins(self, expr: sympy.Basic) -> frozenset[Origin]:
        return frozenset().union(*(self._sources[s].origins for s in expr.free_symbols))

    def operand(self, expr: sympy.Basic, emit: Emit) -> Operand:
        """The operand that holds ``expr``, emitting host operations for what must be computed."""
        if expr.is_Integer:
            return int(expr)
        if isinstance(expr, sympy.Symbol):
            source = self._sources[expr]
            if source.dim is None:
                return source.operand
            return emit("dim", (source.operand,), INT, (source.dim,))
        if isinstance(expr, sympy.Float):
            return float(expr)
        return self._compound(expr, emit)

    def _compound(self, expr: sympy.Basic, emit: Emit) -> Operand:
        if isinstance(expr, sympy.Not):
            return emit("not", (self.operand(expr.args[0], emit),), BOOL, ())
        for kinds, opcode, result in _OPERATIONS:
            if isinstance(expr, kinds):
                parts = [self.operand(a, emit) for a in expr.args]
                return reduce(lambda a, b: emit(opcode, (a, b), result, ()), parts)
        if isinstance(expr, sympy.Pow) and expr.args[1].is_Integer and int(expr.args[1]) > 0:
            base = self.operand(expr.args[0], emit)
            return reduce(lambda a, b: emit("mul", (a, b), INT, ()), [base] * int(expr.args[1]))
        raise Unsupported("TC131", f"the size expression {expr} cannot be computed on the host")


_OPERATIONS: tuple[tuple[Any, str, ScalarType], ...] = (
    (sympy.Add, "add", INT),
    (sympy.Mul, "mul", INT),
    ((sf.FloorDiv, sf.CleanDiv), "floordiv", INT),
    ((sf.Mod, sf.PythonMod), "mod", INT),
    ((sf.Max, sympy.Max), "max", INT),
    ((sf.Min, sympy.Min), "min", INT),
    (sympy.Lt, "lt", BOOL),
    (sympy.Le, "le", BOOL),
    (sympy.Gt, "gt", BOOL),
    (sympy.Ge, "ge", BOOL),
    (sympy.Eq, "eq", BOOL),
    (sympy.Ne, "ne", BOOL),
    (sympy.And, "and", BOOL),
    (sympy.Or, "or", BOOL),
)
