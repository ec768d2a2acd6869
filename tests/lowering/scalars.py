"""Operations that take scalars of the host: slice bounds, sizes, positions, numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from tests.lowering.support import op, scalar, subgraph, tensor
from toolchain.ir import Subgraph


@dataclass(frozen=True)
class ScalarCase:
    subgraph: Subgraph
    expected: Callable[..., tuple[torch.Tensor, ...]]
    runs: tuple[tuple[Any, ...], ...]


_X = tensor(0, "float32", None, 4)
_N, _M, _F = scalar(1, "int"), scalar(2, "int"), scalar(3, "float")
_OUT, _INDICES = tensor(10, "float32", None, None), tensor(11, "int64", None, None)
_DATA = torch.arange(28.0).reshape(7, 4)
_F32 = torch.float32


def _case(
    parameters: list[Any], target: str, args: tuple[Any, ...], expected: Any, *runs: Any, **kwargs: Any
) -> ScalarCase:
    results = (_OUT, _INDICES) if target == "topk.default" else (_OUT,)
    graph = subgraph(parameters, [op(target, args, *results, **kwargs)])

    def outputs(*inputs: Any) -> tuple[torch.Tensor, ...]:
        out = expected(*inputs)
        return (out,) if isinstance(out, torch.Tensor) else tuple(out)

    return ScalarCase(graph, outputs, runs)


def _with_row(x: torch.Tensor, row: torch.Tensor, n: int) -> torch.Tensor:
    return torch.select_scatter(x, row, 0, n)


SCALAR_CASES: dict[str, ScalarCase] = {
    "slice": _case(
        [_X, _N, _M],
        "slice.Tensor",
        (_X, 0, _N, _M),
        lambda x, n, m: x[n:m],
        (_DATA, 2, 5),
        (_DATA, -5, -1),
        (_DATA, 3, 100),
        (_DATA, 5, 2),
        (_DATA, 0, 0),
        (_DATA[:1], 0, 1),
    ),
    "select": _case([_X, _N], "select.int", (_X, 0, _N), lambda x, n: x[n], (_DATA, 3), (_DATA, -2), (_DATA[:1], 0)),
    "select_scatter": _case(
        [_X, tensor(5, "float32", 4), _N],
        "select_scatter.default",
        (_X, tensor(5, "float32", 4), 0, _N),
        _with_row,
        (_DATA, _DATA[0], 2),
        (_DATA, _DATA[0], -1),
    ),
    "full": _case(
        [_N, _F],
        "full.default",
        ((_N, 3), _F),
        lambda n, f: torch.full((n, 3), f),
        (4, 1.5),
        (0, 1.5),
        (1, -0.0),
        dtype=_F32,
    ),
    "full_int": _case(
        [_N, _M], "full.default", ((_N,), _M), lambda n, m: torch.full((n,), m), (4, 2**40), dtype=torch.int64
    ),
    "expand": _case(
        [tensor(0, "float32", 1, 4), _N],
        "expand.default",
        (tensor(0, "float32", 1, 4), (_N, 4)),
        lambda x, n: x.expand(n, 4),
        (_DATA[:1], 5),
        (_DATA[:1], 1),
        (_DATA[:1], 0),
    ),
    "view": _case(
        [_X, _N, _M], "view.default", (_X, (_N, _M)), lambda x, n, m: x.view(n, m), (_DATA, 2, 14), (_DATA, 1, 28)
    ),
    "view_rest": _case([_X, _N], "view.default", (_X, (_N, -1)), lambda x, n: x.view(n, -1), (_DATA, 2), (_DATA, 28)),
    "repeat": _case([_X, _N], "repeat.default", (_X, (_N, 1)), lambda x, n: x.repeat(n, 1), (_DATA, 2), (_DATA, 1)),
    "roll": _case(
        [_X, _N], "roll.default", (_X, (_N,), (0,)), lambda x, n: x.roll(n, 0), (_DATA, 2), (_DATA, -3), (_DATA, 0)
    ),
    "arange": _case([_N, _M], "arange.start", (_N, _M), torch.arange, (2, 5), (3, 3)),
    "zeros": _case([_N], "zeros.default", ((_N, 2),), lambda n: torch.zeros(n, 2), (5,), (0,), (1,)),
    "topk": _case([_X, _N], "topk.default", (_X, _N), lambda x, n: x.topk(n), (_DATA, 2), (_DATA, 4)),
    "tril": _case([_X, _N], "tril.default", (_X, _N), lambda x, n: x.tril(n), (_DATA, 1), (_DATA, -2)),
    "add_int": _case([_X, _N], "add.Tensor", (_X, _N), lambda x, n: x + n, (_DATA, 3)),
    "add_float": _case([_X, _F], "add.Scalar", (_X, _F), lambda x, f: x + f, (_DATA, 0.1)),
    "mul_int": _case([_X, _N], "mul.Scalar", (_X, _N), lambda x, n: x * n, (_DATA, 3)),
    "mul_float": _case([_X, _F], "mul.Tensor", (_X, _F), lambda x, f: x * f, (_DATA, 0.1)),
    "div_float": _case([_X, _F], "div.Tensor", (_X, _F), lambda x, f: x / f, (_DATA, 0.1)),
    "rsub_float": _case([_X, _F], "rsub.Scalar", (_X, _F), lambda x, f: f - x, (_DATA, 0.1)),
    "pow_float": _case([_X, _F], "pow.Tensor_Scalar", (_X, _F), lambda x, f: x**f, (_DATA, 0.5)),
    "gt_float": _case([_X, _F], "gt.Scalar", (_X, _F), lambda x, f: x > f, (_DATA, 3.5)),
    "eq_int": _case([_X, _N], "eq.Scalar", (_X, _N), lambda x, n: x == n, (_DATA, 3)),
    "clamp_float": _case([_X, _F], "clamp.default", (_X, _F, None), lambda x, f: x.clamp(f), (_DATA, 3.5)),
    "fill_float": _case([_X, _F], "fill.Scalar", (_X, _F), lambda x, f: torch.full_like(x, f), (_DATA, 0.25)),
    "double_kept": _case(
        [_F],
        "scalar_tensor.default",
        (_F,),
        lambda f: torch.tensor(f, dtype=torch.float64),
        (0.1,),
        dtype=torch.float64,
    ),
    "long_kept": _case(
        [_N], "scalar_tensor.default", (_N,), lambda n: torch.tensor(n), (2**40,), (-1,), dtype=torch.int64
    ),
}
