"""Inverses, systems of equations and determinants of small matrices, by elimination: nothing below lowers them.

Elimination with row pivoting, as LAPACK does it, unrolled: a matrix is singular where a pivot is exactly zero.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

# The unrolled elimination has some ten operations per row.
_MOST_ROWS = 32


def inverse(a: Tensor, *, check_errors: bool = False) -> Any:
    """``linalg_inv_ex``: [..., n, n] -> (inverse, info); info counts from 1 and names the first zero pivot, or is 0."""
    rows = _square(a)
    if rows is None:
        return NotImplemented
    identity = torch.eye(rows, dtype=a.dtype).expand([*a.shape[:-2], rows, rows])
    solution, info, _ = _eliminate(_static(a, rows), identity, rows)
    return solution, info


def solve(a: Tensor, b: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """``_linalg_solve_ex``: a @ x = b -> (x, factors, pivots, info). The factors, for derivatives only, are NaN."""
    rows = _square(a)
    is_vector = b.dim() == 1
    if rows is None or not left or a.dim() != b.dim() + is_vector:
        return NotImplemented
    solution, info, _ = _eliminate(_static(a, rows), b.unsqueeze(-1) if is_vector else b, rows)
    pivots = torch.zeros([*a.shape[:-2], rows], dtype=torch.int32)
    return solution.squeeze(-1) if is_vector else solution, torch.full_like(a, torch.nan), pivots, info


def determinant(a: Tensor) -> Any:
    """``_linalg_det``: -> (determinant, factors, pivots), likewise."""
    rows = _square(a)
    if rows is None:
        return NotImplemented
    _, _, product = _eliminate(_static(a, rows), a.new_zeros([*a.shape[:-2], rows, 1]), rows)
    return product, torch.full_like(a, torch.nan), torch.zeros([*a.shape[:-2], rows], dtype=torch.int32)


def _square(a: Tensor) -> int | None:
    """The number of rows, if elimination can be unrolled; one known extent says both, the front end checked that."""
    known = [n for n in a.shape[-2:] if isinstance(n, int)]
    return known[0] if known and 0 < known[0] <= _MOST_ROWS and a.is_floating_point() else None


def _static(a: Tensor, rows: int) -> Tensor:
    for dim in (-2, -1):
        if not isinstance(a.shape[dim], int):
            a = a.index_select(dim, torch.arange(rows))
    return a


def _eliminate(a: Tensor, b: Tensor, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """(a^-1 b, info, determinant)."""
    numbers = torch.arange(rows)
    info = torch.zeros(a.shape[:-2], dtype=torch.int32)
    product = a.new_ones(a.shape[:-2])
    for k in range(rows):
        candidates = torch.where(numbers < k, -torch.ones_like(a[..., k]), a[..., k].abs())
        chosen = candidates.argmax(-1, keepdim=True)
        order = torch.where(numbers == k, chosen, torch.where(numbers == chosen, k, numbers)).unsqueeze(-1)
        a, b = (torch.gather(m, -2, order.expand(m.shape)) for m in (a, b))
        pivot = a[..., k, k]
        info = torch.where((pivot == 0) & (info == 0), torch.full_like(info, k + 1), info)
        product = torch.where(chosen.squeeze(-1) == k, pivot, -pivot) * product
        factors = torch.where(numbers == k, torch.zeros_like(a[..., k]), a[..., k] / pivot.unsqueeze(-1)).unsqueeze(-1)
        a, b = (m - factors * m[..., k : k + 1, :] for m in (a, b))
    return b / torch.diagonal(a, dim1=-2, dim2=-1).unsqueeze(-1), info, product
