"""Replacements for operations that do not lower, or whose lowering differs from PyTorch; and what stays different.

Where a comparison with NaN decides, PyTorch lets NaN win: it is the greatest in an order and the result of a clamp.
torch-mlir's lowerings mostly let it lose, which would send a program down another path.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch._decomp import get_decompositions
from torch_mlir.extras.fx_decomp_util import get_decomposition_table

from toolchain.lowering import linear_algebra

aten = torch.ops.aten

# Operations that differ from PyTorch and stay so, with the reason.
LIMITATIONS: Mapping[str, str] = MappingProxyType(
    {
        "subnormal numbers": "IREE runs with subnormals flushed to zero; PyTorch on CPU computes with them",
        "topk indices of equal elements": "PyTorch promises no order among them; compiled, the lowest index is first",
        "sin and cos of huge numbers": "IREE's approximations give infinity where PyTorch reduces the argument",
        "atan2 of infinities and signed zeros": "comes out as NaN or with another sign; finite arguments agree",
        "pow of tensors: zero to the zero, infinities": "computed as exp(y * log(x)), which gives NaN",
        "fmod of quotients above 2**29": "computed in double precision, not exactly",
        "random operations": "they draw from IREE's generator: the front end must not leave them in a subgraph",
        "indices out of range": "IREE reads garbage or writes nothing: the front end checks before the call",
        "division of integers by zero": "gives an arbitrary number or a trap: the front end checks before the call",
    }
)

# Up to this many elements, top-k is a loop over maxima; beyond, a complete sort.
_TOPK_UNROLLED = 16

# PyTorch's own decompositions that torch-mlir's list lacks.
_FROM_TORCH = (
    aten.native_batch_norm,
    aten.gelu,
    aten.upsample_bilinear2d,
    aten.masked_scatter,
    aten.isin,
)

_OURS: dict[Any, Callable[..., Any]] = {}
_Decomposition = TypeVar("_Decomposition", bound=Callable[..., Any])


@functools.cache
def decomposition_table() -> Mapping[Any, Callable[..., Any]]:
    """By operation overload; a function that returns NotImplemented leaves the operation as it is."""
    return {**get_decomposition_table(), **get_decompositions(_FROM_TORCH), **_OURS}


def _replaces(*overloads: Any) -> Callable[[_Decomposition], _Decomposition]:
    def register(function: _Decomposition) -> _Decomposition:
        _OURS.update(dict.fromkeys(overloads, function))
        return function

    return register


# --- extrema


@_replaces(aten.argmax.default)
def _argmax(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    return _position(x, torch.amax, dim, keepdim)


@_replaces(aten.argmin.default)
def _argmin(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    return _position(x, torch.amin, dim, keepdim)


def _position(x: Tensor, extremum: Callable[..., Tensor], dim: int | None, keepdim: bool) -> Any:
    """The first NaN, or else the first element that equals the extremum (which is NaN as soon as an element is)."""
    if x.dtype == torch.int32 and extremum is torch.amax:
        return NotImplemented
    if dim is None:
        found = _position(x.reshape(-1), extremum, 0, False)
        found = aten.argmax(x.reshape(-1), 0) if found is NotImplemented else found
        return found.reshape([1] * x.dim()) if keepdim else found
    if x.dim() == 0:
        return torch.zeros([], dtype=torch.int64)
    candidates = (x == extremum(x, dim, True)) | _is_nan(x)
    return aten.argmax(candidates.to(torch.int32), dim, keepdim)


@_replaces(aten.max.dim)
def _max_dim(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    ordered = _ordered(x)
    return torch.amax(ordered, dim, keepdim).to(x.dtype), torch.argmax(ordered, dim, keepdim)


@_replaces(aten.min.dim)
def _min_dim(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    ordered = _ordered(x)
    return torch.amin(ordered, dim, keepdim).to(x.dtype), torch.argmin(ordered, dim, keepdim)


@_replaces(aten.maximum.default)
def _maximum(x: Tensor, y: Tensor) -> Any:
    x, y = _promoted(x, y)
    return torch.where((x > y) | _is_nan(x), x, y) if x.is_floating_point() else NotImplemented


@_replaces(aten.minimum.default)
def _minimum(x: Tensor, y: Tensor) -> Any:
    x, y = _promoted(x, y)
    return torch.where((x < y) | _is_nan(x), x, y) if x.is_floating_point() else NotImplemented


@_replaces(aten.clamp.default, aten.clamp.Tensor)
def _clamp(x: Tensor, low: Any = None, high: Any = None) -> Tensor:
    for bound in (low, high):
        x = x if bound is None else x.to(torch.result_type(x, bound))
    if low is not None:
        x = _raise_to(x, low)
    return x if high is None else _lower_to(x, high)


@_replaces(aten.clamp_min.default, aten.clamp_min.Tensor)
def _clamp_min(x: Tensor, low: Any) -> Tensor:
    return _clamp(x, low, None)


@_replaces(aten.clamp_max.default, aten.clamp_max.Tensor)
def _clamp_max(x: Tensor, high: Any) -> Tensor:
    return _clamp(x, None, high)


@_replaces(aten.hardtanh.default)
def _hardtanh(x: Tensor, low: float = -1.0, high: float = 1.0) -> Tensor:
    return _clamp(x, low, high)


@_replaces(aten.hardsigmoid.default)
def _hardsigmoid(x: Tensor) -> Tensor:
    return _clamp(x + 3, 0, 6) / 6


@_replaces(aten.hardswish.default)
def _hardswish(x: Tensor) -> Tensor:
    return x * _clamp(x + 3, 0, 6) / 6


def _raise_to(x: Tensor, low: Any) -> Tensor:
    return torch.maximum(x, low) if isinstance(low, Tensor) else torch.where(x < low, _constant(low, x), x)


def _lower_to(x: Tensor, high: Any) -> Tensor:
    return torch.minimum(x, high) if isinstance(high, Tensor) else torch.where(x > high, _constant(high, x), x)


# --- comparisons and remainders


@_replaces(aten.isfinite.default)
def _isfinite(x: Tensor) -> Any:
    return x.abs() < torch.inf if x.is_floating_point() else NotImplemented


@_replaces(aten.eq.Tensor)
def _eq(x: Tensor, y: Tensor) -> Any:
    """torch-mlir takes ``x == x`` for true, but not ``x != x`` for false."""
    x, y = _promoted(x, y)
    return ~(x != y) if x.is_floating_point() else NotImplemented


def _compare_with_number(compare: Callable[..., Tensor], x: Tensor, number: Any) -> Any:
    """torch-mlir compares in double precision, where 0.3 as a float32 is greater than 0.3, and folds wrongly where a
    constant tensor meets an integer."""
    is_float = x.is_floating_point() and isinstance(number, (int, float))
    return compare(x, _constant(number, x)) if is_float else NotImplemented


for _comparison in (aten.eq, aten.ge, aten.gt, aten.le, aten.lt, aten.ne):
    _OURS[_comparison.Scalar] = functools.partial(_compare_with_number, _comparison.Tensor)


@_replaces(aten.fmod.Tensor, aten.fmod.Scalar)
def _fmod(x: Tensor, y: Any) -> Any:
    """torch-mlir computes this in the operands' precision, which loses digits, and NaN when ``y`` is infinite."""
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return NotImplemented
    dividend, divisor = x.to(torch.float64), _constant(y, x.double()) if not isinstance(y, Tensor) else y.double()
    rest = dividend - torch.trunc(dividend / divisor) * divisor
    whole = _isfinite(dividend) & (divisor.abs() == torch.inf)
    return torch.where(whole, dividend, rest).to(dtype)


@_replaces(aten.remainder.Scalar)
def _remainder(x: Tensor, y: Any) -> Any:
    """torch-mlir folds it for a constant tensor as if it were ``fmod``."""
    rest = _fmod(x, y)
    if rest is NotImplemented:
        return NotImplemented
    divisor = _constant(y, rest)
    return torch.where((rest != 0) & ((rest < 0) != (divisor < 0)), rest + divisor, rest)


# --- order


@_replaces(aten.sort.default)
def _sort(x: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """Stable, NaN greatest. Every element counts the elements that come before it, which vectorises."""
    if x.dim() == 0:
        return x.clone(), torch.zeros([], dtype=torch.int64)
    rows = x.transpose(dim, -1)
    ranks = _ranks(_ordered(rows), descending)
    # The inverse permutation; a scatter of ranks crashes iree-compile.
    places = torch.arange(rows.size(-1))
    indices = torch.where(ranks.unsqueeze(-2) == places.unsqueeze(-1), places, 0).sum(-1)
    return torch.gather(rows, -1, indices).transpose(dim, -1), indices.transpose(dim, -1)


@_replaces(aten.sort.stable)
def _sort_stable(
    x: Tensor, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> tuple[Tensor, Tensor]:
    return _sort(x, dim, descending)


def _ranks(rows: Tensor, descending: bool) -> Tensor:
    mine, other = rows.unsqueeze(-1), rows.unsqueeze(-2)
    first, second = (mine, other) if descending else (other, mine)
    places = torch.arange(rows.size(-1))
    earlier = places.unsqueeze(0) < places.unsqueeze(1)
    before = torch.where(earlier, ~_less(second, first), _less(first, second))
    return before.to(torch.int64).sum(-1)


def _less(x: Tensor, y: Tensor) -> Tensor:
    return (x < y) | (_is_nan(y) & ~_is_nan(x)) if x.is_floating_point() else x < y


@_replaces(aten.topk.default)
def _topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    if x.dim() == 0:
        return x.clone().expand([k] if k == 0 else []), torch.zeros([], dtype=torch.int64)
    if not isinstance(k, int) or not 0 < k <= _TOPK_UNROLLED:
        values, indices = _sort(x, dim, largest)
        return _narrow(values, dim, 0, k), _narrow(indices, dim, 0, k)
    indices = torch.cat(_best_positions(_ordered(x), k, dim, largest), dim)
    return torch.gather(x, dim, indices), indices


def _best_positions(x: Tensor, k: int, dim: int, largest: bool) -> list[Tensor]:
    extremum, worst = (torch.amax, _lowest(x)) if largest else (torch.amin, _highest(x))
    places = torch.arange(x.size(dim)).reshape([-1 if d == dim % x.dim() else 1 for d in range(x.dim())])
    free, found = torch.ones_like(x, dtype=torch.bool), []
    # NaN is the greatest: amax finds it, but amin must not.
    comparable = free if largest else ~_is_nan(x)
    for _ in range(k):
        best = extremum(torch.where(free & comparable, x, worst), dim, True)
        matches = free & _equal_or_nan(x, best)
        # Without a match only NaN is left, all of it free.
        found.append(aten.argmax(matches.to(torch.int32) * 2 + free.to(torch.int32), dim, True))
        free = free & (places != found[-1])
    return found


def _equal_or_nan(x: Tensor, best: Tensor) -> Tensor:
    return (x == best) | (_is_nan(x) & _is_nan(best))


# --- boolean masks, which are lists of positions in disguise


@_replaces(aten.index.Tensor)
def _index(x: Tensor, indices: Sequence[Tensor | None]) -> Any:
    if _has_mask(indices):
        x, indices = _flattened(x, indices)
        return aten.index(x, indices)
    leading = [i for i in indices if i is not None]
    if len(leading) < 2 or len(leading) != len(indices):
        return NotImplemented
    return _index_leading(x, leading)


def _index_leading(x: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """Several positions at once are one position in the leading dimensions made one: torch-mlir leaves
    ``index.Tensor`` alone when all of its positions have unknown extents."""
    wrapped = [torch.where(i < 0, i + n, i) for i, n in zip(indices, x.shape, strict=False)]
    position = wrapped[0]
    for index, extent in zip(wrapped[1:], x.shape[1:], strict=False):
        position = position * extent + index
    flat = x.reshape([-1, *x.shape[len(indices) :]])
    return torch.index_select(flat, 0, position.reshape(-1)).reshape([*position.shape, *x.shape[len(indices) :]])


@_replaces(aten.masked_select.default)
def _masked_select(x: Tensor, mask: Tensor) -> Tensor:
    x, mask = torch.broadcast_tensors(x, mask)  # type: ignore[no-untyped-call]
    return torch.index_select(x.reshape(-1), 0, torch.nonzero(mask.reshape(-1)).squeeze(1))


@_replaces(aten.index_put.default)
def _index_put(x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Any:
    if not _has_mask(indices):
        return _index_put_at(x, indices, values, accumulate)
    mask = indices[0]
    if mask is not None and len(indices) == 1 and values.dim() == 0 and not accumulate:
        return torch.where(mask.reshape([*mask.shape, *[1] * (x.dim() - mask.dim())]), values, x)
    flat, positions = _flattened(x, indices)
    return aten.index_put(flat, positions, values, accumulate).reshape(x.shape)


def _index_put_at(x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool) -> Any:
    """Values of fewer dimensions than the places are expanded: torch-mlir takes those of unknown extents for equal."""
    leading = [i for i in indices if i is not None]
    rank = max(i.dim() for i in leading) + x.dim() - len(leading)
    if len(leading) < len(indices) or values.dim() == rank:
        return NotImplemented
    places = torch.broadcast_tensors(*leading)[0].shape  # type: ignore[no-untyped-call]
    return aten.index_put(x, indices, values.expand([*places, *x.shape[len(leading) :]]), accumulate)


def _has_mask(indices: Sequence[Tensor | None]) -> bool:
    return any(i is not None and i.dtype == torch.bool for i in indices)


def _flattened(x: Tensor, indices: Sequence[Tensor | None]) -> tuple[Tensor, list[Tensor | None]]:
    """A mask over several dimensions becomes one list of positions in these dimensions made one."""
    positions: list[Tensor | None] = []
    for index in indices:
        if index is not None and index.dtype == torch.bool:
            at = len(positions)
            x = x.reshape([*x.shape[:at], -1, *x.shape[at + index.dim() :]])
            index = torch.nonzero(index.reshape(-1)).squeeze(1)
        positions.append(index)
    return x, positions


_replaces(aten.linalg_inv_ex.default)(linear_algebra.inverse)
_replaces(aten._linalg_solve_ex.default)(linear_algebra.solve)
_replaces(aten._linalg_det.default)(linear_algebra.determinant)


# --- empty tensors


@_replaces(aten.cat.default)
def _cat(tensors: Sequence[Tensor], dim: int = 0) -> Any:
    """iree-compile refuses a concatenation whose operands are all known to be empty."""
    whole = [t for t in tensors if not _is_empty(t)]
    if len(whole) == len(tensors):
        return NotImplemented
    dtype = functools.reduce(torch.promote_types, (t.dtype for t in tensors))
    if whole:
        return aten.cat([t.to(dtype) for t in whole], dim)
    # Tensors of shape (0,) go with any others.
    like = max(tensors, key=lambda t: t.dim())
    shape = list(like.shape)
    shape[dim] = sum(t.shape[dim] for t in tensors if t.dim() == like.dim())
    return torch.zeros(shape, dtype=dtype)


def _is_empty(x: Tensor) -> bool:
    return any(isinstance(dim, int) and dim == 0 for dim in x.shape)


# --- operations whose usual decomposition asks about unknown sizes


@_replaces(aten._scaled_dot_product_flash_attention_for_cpu.default)
def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Any:
    if dropout_p:
        return NotImplemented
    factor = query.size(-1) ** -0.5 if scale is None else scale
    scores = torch.matmul(query, key.transpose(-1, -2)) * factor
    if is_causal:
        rows, columns = torch.arange(query.size(-2)), torch.arange(key.size(-2))
        scores = torch.where(columns.unsqueeze(0) <= rows.unsqueeze(1), scores, -torch.inf)
    if attn_mask is not None:
        scores = torch.where(attn_mask, scores, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    return torch.matmul(torch.softmax(scores, -1), value), _logsumexp(scores, [-1])


@_replaces(aten.logsumexp.default)
def _logsumexp(x: Tensor, dim: list[int], keepdim: bool = False) -> Tensor:
    x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    if _is_empty(x) or x.dim() == 0:
        return torch.log(torch.sum(torch.exp(x), dim, keepdim))
    most = torch.amax(x, dim, True)
    most = torch.where(most.abs() == torch.inf, torch.zeros_like(most), most)
    total = torch.log(torch.sum(torch.exp(x - most), dim, True)) + most
    return total if keepdim else total.squeeze(dim)


def _narrow(x: Tensor, dim: int, start: int, length: int) -> Any:
    return aten.slice(aten.slice(x, dim, start), dim, 0, length)


@_replaces(aten.roll.default)
def _roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    if not dims:
        return _roll(x.reshape(-1), shifts, [0]).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.size(dim)
        x = torch.index_select(x, dim, torch.remainder(torch.arange(size) - shift, size))
    return x


@_replaces(aten.select_scatter.default)
def _select_scatter(x: Tensor, source: Tensor, dim: int, index: int) -> Tensor:
    size = x.size(dim)
    places = torch.arange(size).reshape([-1 if d == dim % x.dim() else 1 for d in range(x.dim())])
    # The sign of the index is unknown; at most one of the two is within the range.
    return torch.where((places == index) | (places == index + size), source.unsqueeze(dim), x)


@_replaces(aten.repeat_interleave.Tensor)
def _repeat_interleave(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    """Not imported. Output ``i`` is the number of rows that end at or before it."""
    ends = torch.cumsum(repeats, 0)
    total = repeats.sum().item() if output_size is None else output_size
    places = torch.arange(total, dtype=repeats.dtype)
    return (ends.unsqueeze(0) <= places.unsqueeze(1)).to(torch.int64).sum(1).to(repeats.dtype)


@_replaces(aten.rsub.Scalar)
def _rsub(x: Tensor, other: Any, alpha: Any = 1) -> Any:
    """torch-mlir has no difference of a number that is a parameter and a tensor."""
    return x * -alpha + other


# --- distances


@_replaces(aten._cdist_forward.default)
def _cdist(x: Tensor, y: Tensor, p: float, compute_mode: int | None = None) -> Any:
    return torch.linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, dim=-1)


@_replaces(aten.var.correction)
def _var(x: Tensor, dim: list[int] | None = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    found = _var_mean(x, dim, correction=correction, keepdim=keepdim)
    return found if found is NotImplemented else found[0]


@_replaces(aten.var_mean.correction)
def _var_mean(x: Tensor, dim: list[int] | None = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    """torch-mlir computes it in double precision: slow on processors, refused by the compiler for most GPUs."""
    if x.dtype != torch.float32:
        return NotImplemented
    dims = dim or list(range(x.dim()))
    mean = x.mean(dims, True)
    squares = (x - mean).square()
    if correction == 0:
        var = squares.mean(dims, True)
    else:
        # As a tensor, since the size may be unknown; without elements to spare the result is infinite or NaN.
        count = torch.full([], math.prod(x.shape[d] for d in dims), dtype=x.dtype)
        var = squares.sum(dims, True) / (count - (1 if correction is None else correction)).clamp_min(0)
    return (var, mean) if keepdim else (var.squeeze(dims), mean.squeeze(dims))


# --- helpers


def _is_nan(x: Tensor) -> Tensor:
    return x != x


def _ordered(x: Tensor) -> Tensor:
    return x.to(torch.int32) if x.dtype == torch.bool else x


def _promoted(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    dtype = torch.result_type(x, y)
    return x.to(dtype), y.to(dtype)


def _constant(number: Any, like: Tensor) -> Tensor:
    # Numbers of run time stay as they are.
    is_literal = isinstance(number, int) and like.is_floating_point()
    return torch.full([], float(number) if is_literal else number, dtype=like.dtype)


def _lowest(x: Tensor) -> Tensor:
    return _constant(-torch.inf if x.is_floating_point() else torch.iinfo(x.dtype).min, x)


def _highest(x: Tensor) -> Tensor:
    return _constant(torch.inf if x.is_floating_point() else torch.iinfo(x.dtype).max, x)
