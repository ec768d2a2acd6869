"""Operations compiled for unknown sizes and run at sizes 0, 1, 2 and 7, equal and different ones."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.lowering.support import Case


def _x(*dims: int) -> torch.Tensor:
    return torch.randn(dims, generator=torch.Generator().manual_seed(sum(dims)))


_SQUARES = tuple((_x(a, b),) for a, b in ((0, 0), (0, 2), (1, 1), (1, 7), (7, 1), (2, 2), (7, 2)))
_NON_EMPTY = tuple(run for run in _SQUARES if run[0].numel())
_PAIRS = tuple((_x(a, b), _x(a, b)) for a, b in ((0, 0), (1, 1), (1, 7), (7, 1), (2, 2)))
_PRODUCTS = tuple((_x(a, k), _x(k, b)) for a, k, b in ((0, 2, 3), (1, 1, 1), (2, 0, 2), (7, 2, 1), (2, 2, 2)))

CASES: dict[str, Case] = {
    "elementwise": Case(
        lambda x, y: (x + y, x * y, x > y, torch.where(x > y, x, y)), (_x(3, 5), _x(3, 5)), (), True, _PAIRS
    ),
    "reductions": Case(lambda x: (x.sum(), x.sum(0), x.mean(1), x.norm()), (_x(3, 5),), (), True, _NON_EMPTY),
    "softmax": Case(lambda x: (x.softmax(-1), x.log_softmax(0)), (_x(3, 5),), (), True, _SQUARES),
    "matmul": Case(torch.matmul, (_x(3, 4), _x(4, 5)), (), True, _PRODUCTS),
    "linear": Case(F.linear, (_x(3, 5),), (_x(4, 5), _x(4)), True, ((_x(0, 5),), (_x(1, 5),), (_x(7, 5),))),
    "layer_norm": Case(
        lambda x, w, b: F.layer_norm(x, (5,), w, b), (_x(3, 5),), (_x(5), _x(5)), True, ((_x(0, 5),), (_x(1, 5),))
    ),
    "views": Case(
        lambda x: (x.t(), x.unsqueeze(1), x.reshape(-1), x.transpose(0, 1).contiguous(), x[:1], x.flip(0)),
        (_x(3, 5),),
        (),
        True,
        _SQUARES,
    ),
    "cat_stack": Case(lambda x, y: (torch.cat([x, y]), torch.stack([x, y], 1)), (_x(3, 5), _x(3, 5)), (), True, _PAIRS),
    "cat_different": Case(lambda x, y: torch.cat([x, y]), (_x(3, 5), _x(2, 5)), (), True, ((_x(0, 2), _x(1, 2)),)),
    "nonzero": Case(lambda x: (torch.nonzero(x > 0), x[x > 0]), (_x(3, 5),), (), True, _SQUARES),
    "argmax": Case(lambda x: (x.argmax(1), x.argmax()), (_x(3, 5),), (), True, _NON_EMPTY),
    "sort": Case(lambda x: tuple(x.sort(1)), (_x(3, 5),), (), True, _SQUARES),
    "topk": Case(lambda x: tuple(x.topk(1)), (_x(3, 5),), (), True, _NON_EMPTY),
    "cumsum": Case(lambda x: x.cumsum(1), (_x(3, 5),), (), True, _SQUARES),
    "conv1d_length": Case(
        lambda x, w: F.conv1d(x, w, padding=1), (_x(1, 3, 9),), (_x(2, 3, 3),), True, ((_x(1, 3, 1),), (_x(2, 3, 7),))
    ),
    "sdpa_length": Case(
        F.scaled_dot_product_attention,
        (_x(1, 2, 5, 8), _x(1, 2, 6, 8), _x(1, 2, 6, 8)),
        (),
        True,
        ((_x(1, 2, 1, 8), _x(1, 2, 1, 8), _x(1, 2, 1, 8)), (_x(1, 2, 7, 8), _x(1, 2, 7, 8), _x(1, 2, 7, 8))),
        (0, 1, 3),
    ),
    "embedding": Case(
        lambda i, w: F.embedding(i, w),
        (torch.tensor([1, 2]),),
        (_x(10, 4),),
        True,
        ((torch.zeros(0, dtype=torch.int64),), (torch.tensor([9]),)),
    ),
    "index_select": Case(
        lambda x, i: x[i],
        (_x(3, 5), torch.tensor([2, 0])),
        (),
        True,
        ((_x(1, 5), torch.tensor([0])), (_x(2, 1), torch.tensor([1, 1, 0]))),
    ),
    "repeat_interleave": Case(
        torch.ops.aten.repeat_interleave.Tensor,
        (torch.tensor([2, 0, 1]),),
        (),
        True,
        ((torch.tensor([3]),), (torch.tensor([0, 0]),), (torch.tensor([0, 1, 2, 0, 4]),)),
    ),
}
