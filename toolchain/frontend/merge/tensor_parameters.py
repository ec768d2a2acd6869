"""Tensors that are block arguments, and their extents."""

from __future__ import annotations

from typing import Any

import torch

from toolchain.frontend import torch_adapter
from toolchain.frontend.constants import dtype_name
from toolchain.frontend.functional import fresh_root
from toolchain.frontend.merge.hints import Mismatch, Path
from toolchain.frontend.merge.join import Join, Parameter
from toolchain.frontend.symbols import SymbolSource
from toolchain.ir import Operand, TensorType


class TensorParameters:
    def __init__(self, join: Join) -> None:
        self._join = join
        self._owned_extents: list[tuple[Path, int, Any]] = []

    def make(
        self,
        path: Path,
        dtype: torch.dtype,
        shapes: list[tuple[Any, ...]],
        operands: tuple[Operand, ...],
        refs: tuple[torch.Tensor, ...] | None,
    ) -> torch.Tensor:
        """The tensor for the leaf ``path``, of one shape and operand per arrival; laid out like ``refs``, if given."""
        join = self._join
        wanted = join.hints.dims.get(path, frozenset())
        shape: list[Any] = []
        varying: set[int] = set()
        for n, row in enumerate(zip(*shapes, strict=True)):
            extent = None if n in wanted else self._common_extent(path, n, row)
            if extent is None:
                extent = self._fresh_extent(path, n, row)
                varying.add(n)
            shape.append(extent)
        dims = tuple(d if isinstance(d, int) else None for d in shape)
        value = join.value(path, TensorType(dtype_name(dtype), dims))
        join.parameters[("tensor", path)] = Parameter(value, operands, path)
        join.profile[path] = (dtype, dims)
        join.new_hints.leaves[path] = "vary"
        join.new_hints.dims[path] = frozenset(varying)
        for owner, n, sym in self._owned_extents:
            if owner == path:
                join.recorder.symbols.define(torch_adapter.expression_of(sym), SymbolSource(value, n, False))
        strides = _strides(path, refs, shape) if refs is not None else None
        saved, join.recorder.state = join.recorder.state, join.state
        try:
            return fresh_root(join.recorder, tuple(shape), dtype, value, strides)
        finally:
            join.recorder.state = saved

    def _common_extent(self, path: Path, dim: int, row: tuple[Any, ...]) -> Any:
        """The extent that all arrivals have, or None."""
        position = self._join.common(tuple(map(torch_adapter.expression, row)))
        if position is None:
            return None
        if not isinstance(row[position], int):
            self._join.profile[(*path, dim)] = str(row[position])
        return row[position]

    def _fresh_extent(self, path: Path, dim: int, row: tuple[Any, ...]) -> Any:
        join = self._join
        expressions = (*map(torch_adapter.expression, row), join.hints.unshared.get((*path, dim)))
        if expressions not in join.symbols:
            key = ("extent", path, dim)
            if key not in join.cache:
                join.cache[key] = torch_adapter.new_int(join.recorder.fake_mode)
                torch_adapter.forget_fresh_symbols(join.recorder.fake_mode)
            join.symbols[expressions] = join.cache[key]
            self._owned_extents.append((path, dim, join.cache[key]))
        sym = join.symbols[expressions]
        join.profile[(*path, dim)] = join.partners[(*path, dim)] = str(sym)
        lower = join.floor((*path, dim), expressions[:-1], default=0)
        join.state.facts.declare(torch_adapter.expression_of(sym), lower)
        return sym


def _strides(path: Path, refs: tuple[torch.Tensor, ...], shape: list[Any]) -> Any:
    """The strides of the merged tensor, where they are not those of a contiguous one."""
    if any(not isinstance(n, int) for r in refs for n in (*r.shape, *r.stride())):
        return None
    contiguous = [r.is_contiguous() for r in refs]
    if all(contiguous) or any(not isinstance(n, int) for n in shape):
        return None
    strides = {tuple(r.stride()) for r in refs}
    if len(strides) > 1:
        raise Mismatch(path, "tensors of different memory layout")
    return strides.pop()
