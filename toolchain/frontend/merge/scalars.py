"""Merging numbers, strings and opaque objects of the host."""

from __future__ import annotations

from typing import Any

import sympy

from toolchain.frontend import torch_adapter
from toolchain.frontend.context import Staged, scalar_type
from toolchain.frontend.merge.hints import Mismatch, Path
from toolchain.frontend.merge.join import Join, Parameter
from toolchain.frontend.merge.wording import show
from toolchain.frontend.numbers import expression
from toolchain.frontend.signals import Origin
from toolchain.frontend.staged import StagedStr, operand_of, wrap
from toolchain.ir import FLOAT, INT, OBJECT, STR, ScalarType, Value


class ScalarMerger:
    """ranges: the lower bounds of the integers that are arguments."""

    def __init__(self, join: Join) -> None:
        self._join = join
        self.ranges: list[tuple[sympy.Symbol, int | None]] = []

    def number(self, path: Path, refs: tuple[Any, ...]) -> Any:
        kinds = {scalar_type(r) for r in refs}
        if len(kinds) > 1:
            raise Mismatch(path, " on one path, ".join(str(k) for k in sorted(kinds, key=str)) + " on another")
        first = refs[0]
        hint = self._join.hints.leaves.get(path)
        if hint == "const" or hint != "vary":
            if all(not isinstance(r, Staged) and repr(r) == repr(first) for r in refs):
                return first
            same = all(isinstance(r, Staged) and r.operand == first.operand for r in refs)
            if same and not self._join.isolated:
                return first
        if hint == "const":
            raise Mismatch(
                path, f"{show(first)} on one path, {show(refs[-1])} on another, and it is needed as a constant"
            )
        return self._number_parameter(path, refs, next(iter(kinds)))

    def _number_parameter(self, path: Path, refs: tuple[Any, ...], kind: ScalarType) -> Any:
        join = self._join
        operands = tuple(operand_of(r) for r in refs)
        key: Any = (kind, operands if kind != FLOAT else tuple(repr(o) for o in operands))
        key = (*key, join.hints.unshared.get(path))
        is_data = path in join.hints.data or any(isinstance(r, Staged) and r.is_data for r in refs)
        if is_data:
            join.new_hints.data.add(path)
        found = join.parameters.get(key)
        if found is None:
            found = Parameter(join.value(path, kind), operands, path)
            join.parameters[key] = found
        join.profile[path] = (kind, is_data, found.path)
        join.partners[path] = found.path
        join.new_hints.leaves[path] = "vary"
        origins = frozenset({join.origin(path)})
        if kind != INT:
            return wrap(found.value, kind, is_data, origins)
        expressions: tuple[Any, ...] = tuple(expression(r) for r in refs)
        position = None if path in join.hints.own else join.common(expressions)
        if position is not None and not expressions[position].is_Integer:
            join.profile[(*path, "common")] = expressions[position]
            return wrap(found.value, kind, is_data, origins, sym=refs[position].sym)
        join.new_hints.own.add(path)
        expressions = (*expressions, join.hints.unshared.get(path))
        sym = join.symbols.get(expressions)
        if sym is None:
            sym = self._int_symbol(path, found.value, is_data, origins)
            join.symbols[expressions] = sym
        self._bound(path, sym, expressions[: len(refs)])
        return wrap(found.value, kind, is_data, origins, sym=sym)

    def _int_symbol(self, path: Path, value: Value, is_data: bool, origins: frozenset[Origin]) -> Any:
        cache, key = self._join.cache, ("sym", path, value.id, is_data)
        if key not in cache:
            cache[key] = self._join.recorder.int_symbol(value, is_data, origins)
        return cache[key]

    def _bound(self, path: Path, sym: Any, expressions: tuple[Any, ...]) -> None:
        """Learns that the number is not negative, or positive, if it is so on every arrival."""
        self._declare(torch_adapter.expression_of(sym), self._join.floor(path, expressions))

    def _declare(self, symbol: Any, lower: int | None) -> None:
        self._join.state.facts.declare(symbol, lower)
        self.ranges.append((symbol, lower))

    def string(self, path: Path, refs: tuple[Any, ...]) -> Any:
        first, hint = refs[0], self._join.hints.leaves.get(path)
        if hint != "vary" and all(isinstance(r, str) and r == first for r in refs):
            return first
        same = all(isinstance(r, StagedStr) and r.operand == operand_of(first) for r in refs)
        if hint == "const" and not (same and not self._join.isolated):
            raise Mismatch(path, f"{show(first)} on one path, {show(refs[-1])} on another")
        return self._opaque(path, refs, STR)

    def object(self, path: Path, refs: tuple[Any, ...]) -> Any:
        if self._join.isolated:
            raise Mismatch(path, "a value that only the host program has would be kept between calls")
        return self._opaque(path, refs, OBJECT)

    def _opaque(self, path: Path, refs: tuple[Any, ...], kind: ScalarType) -> Any:
        """A string or another object of run time."""
        join = self._join
        first = refs[0]
        operands = tuple(operand_of(r) for r in refs)
        if all(o == operands[0] for o in operands) and not join.isolated and join.hints.leaves.get(path) != "vary":
            return first
        found = join.parameters.setdefault((kind, operands), Parameter(join.value(path, kind), operands, path))
        join.profile[path] = kind
        join.new_hints.leaves[path] = "vary"
        return wrap(found.value, kind, True, frozenset({join.origin(path)}))
