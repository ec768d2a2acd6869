"""NaN, infinities, signed zeros, ties and empty tensors: values on which a compiler easily differs from PyTorch."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from tests.lowering.support import Case

NAN, INF = math.nan, math.inf
_ROWS = torch.tensor(
    [
        [1.0, NAN, 3.0, 2.0],
        [NAN, NAN, 1.0, INF],
        [INF, 2.0, NAN, -INF],
        [-INF, -INF, -INF, -INF],
        [2.0, 5.0, 5.0, 2.0],
        [0.0, -0.0, 0.0, -0.0],
        [INF, INF, 1.0, -INF],
    ]
)
_VECTOR = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.5, -1.5, 3e38, 1e-30])
_OTHER = torch.tensor([1.0, NAN, INF, -0.0, 0.0, NAN, -INF, 2.0, 1.0])
_TIES = torch.tensor([[3, 1, 3, 1, 2, 3], [0, 0, 0, 0, 0, 0], [5, 4, 3, 2, 1, 0]])


CASES: dict[str, Case] = {
    "argmax": Case(lambda x: (x.argmax(), x.argmax(1), x.argmax(0), x.argmax(1, keepdim=True)), (_ROWS,)),
    "argmin": Case(lambda x: (x.argmin(), x.argmin(1), x.argmin(0), x.argmin(-1, keepdim=True)), (_ROWS,)),
    "argmax_int": Case(lambda x: (x.argmax(1), x.argmin(1), x.argmax()), (_TIES,)),
    "argmax_dynamic": Case(lambda x: (x.argmax(1), x.argmin(0)), (_ROWS,), dynamic=True, runs=((_ROWS[:1, :1],),)),
    "max_dim": Case(lambda x: (*x.max(1), *x.max(0, keepdim=True), x.max()), (_ROWS,)),
    "min_dim": Case(lambda x: (*x.min(1), *x.min(0, keepdim=True), x.min()), (_ROWS,)),
    "amax_amin": Case(lambda x: (x.amax(1), x.amin(1), x.amax(), *x.aminmax(dim=1)), (_ROWS,)),
    "clamp": Case(
        lambda x: (x.clamp(-1.0, 1.0), x.clamp(min=0.5), x.clamp(max=0.5), x.clamp_min(0.0), x.clamp_max(0.0)),
        (_VECTOR,),
    ),
    "clamp_tensor": Case(lambda x, y: (x.clamp(min=y), x.clamp(max=y), x.clamp(y, y + 1)), (_VECTOR, _OTHER)),
    "clamp_int": Case(lambda x: (x.clamp(1, 2), x.clamp(min=1.5), x.clamp(max=2)), (_TIES,)),
    "relu_family": Case(
        lambda x: (F.relu(x), F.relu6(x), F.hardtanh(x), F.leaky_relu(x), F.elu(x), F.hardswish(x), F.hardsigmoid(x)),
        (_VECTOR,),
    ),
    "softplus_family": Case(
        lambda x: (F.softplus(x), F.silu(x), F.gelu(x), torch.sigmoid(x), torch.tanh(x), F.logsigmoid(x)), (_VECTOR,)
    ),
    "minimum_maximum": Case(
        lambda a, b: (torch.minimum(a, b), torch.maximum(a, b), torch.fmin(a, b), torch.fmax(a, b)), (_VECTOR, _OTHER)
    ),
    "comparisons": Case(lambda a, b: (a < b, a <= b, a > b, a >= b, a == b, a != b), (_VECTOR, _OTHER)),
    "predicates": Case(
        lambda x: (x.isnan(), x.isinf(), x.isfinite(), x.bool(), x.sign(), x.logical_not(), x.any(), x.all()),
        (_VECTOR,),
    ),
    "nan_to_num": Case(lambda x: (x.nan_to_num(), x.nan_to_num(1.0, 2.0, 3.0)), (_VECTOR,)),
    "unary": Case(
        lambda x: (
            x.exp(),
            x.log(),
            x.sqrt(),
            x.rsqrt(),
            x.reciprocal(),
            x.abs(),
            x.erf(),
            x.log1p(),
            x.expm1(),
        ),
        (_VECTOR,),
    ),
    "rounding": Case(lambda x: (x.round(), x.floor(), x.ceil(), x.trunc()), (_VECTOR,)),
    "binary": Case(
        lambda a, b: (a / b, a % b, torch.fmod(a, b), a.floor_divide(b)),
        (_VECTOR, _OTHER),
    ),
    "sort": Case(lambda x: (*x.sort(1), *x.sort(0), *x.sort(1, descending=True)), (_ROWS,)),
    "sort_stable": Case(
        lambda x: (*x.sort(dim=1, stable=True), *x.sort(dim=1, stable=True, descending=True)), (_ROWS,)
    ),
    "argsort": Case(lambda x: (x.argsort(1), x.argsort(0), x.argsort(1, descending=True)), (_ROWS,)),
    "sort_int_ties": Case(lambda x: (*x.sort(1), *x.sort(1, descending=True)), (_TIES,)),
    "sort_bool": Case(lambda x: tuple((x > 2).sort(1)), (_TIES,)),
    "sort_dynamic": Case(lambda x: tuple(x.sort(1)), (_ROWS,), dynamic=True, runs=((_ROWS[:, :1],), (_ROWS[:, :0],))),
    "topk_values": Case(lambda x: (x.topk(3)[0], x.topk(2, largest=False)[0], x.topk(2, dim=0)[0]), (_ROWS,)),
    "topk_indices": Case(lambda x: (x.topk(2)[1], x.topk(3, largest=False)[1]), (_ROWS[4:5].cumsum(1),)),
    "topk_many": Case(lambda x: tuple(x.topk(40, dim=0)), (torch.randperm(64).float(),)),
    "softmax": Case(lambda x: (x.softmax(1), x.log_softmax(1), x.logsumexp(1)), (_ROWS,)),
    "reductions": Case(lambda x: (x.sum(1), x.mean(1), x.prod(1), x.var(1), x.norm(dim=1)), (_ROWS,)),
    "cumulative": Case(lambda x: (x.cumsum(1), x.cumprod(1)), (_ROWS,)),
    "pooling": Case(lambda x: (F.max_pool1d(x, 2), F.avg_pool1d(x, 2)), (_ROWS[None],)),
    "max_pool2d": Case(lambda x: F.max_pool2d(x, 2), (_ROWS[None, None],)),
    "max_pool2d_indices": Case(lambda x: F.max_pool2d(x, 2, return_indices=True), (_ROWS[None, None, 4:6],)),
    "where_masked": Case(lambda x: (torch.where(x > 0, x, 0.0), x.masked_fill(x.isnan(), 0.0)), (_VECTOR,)),
    "empty_sums": Case(lambda x: (x.sum(), x.prod(), x.any(), x.all(), x.sum(1)), (torch.zeros(2, 0),)),
    "empty_dynamic": Case(
        lambda x: (x.sum(), x.sum(1), x.any(), (x > 0).all(), torch.cat([x, x])),
        (torch.ones(2, 3),),
        dynamic=True,
        runs=((torch.zeros(2, 0),), (torch.zeros(0, 3),), (torch.ones(1, 1),)),
    ),
    "int_division": Case(
        lambda a, b: (a // b, a % b, torch.fmod(a, b), torch.div(a, b, rounding_mode="trunc")),
        (torch.tensor([7, -7, 7, -7, 0]), torch.tensor([2, 2, -2, -2, 3])),
    ),
    "self_comparisons": Case(
        lambda x: (x == x, x != x, x <= x, x >= x, x < x, x > x, x - x, x.eq(x.clone())), (_VECTOR,)
    ),
    "remainders": Case(
        lambda a, b: (a % b, torch.fmod(a, b), a % 3.0, torch.fmod(a, 3.0)),
        (torch.tensor([1e7, -1e7, 5.5, -5.5, 1.5, -1.5]), torch.tensor([3.0, 3.0, INF, INF, -INF, 0.1])),
    ),
    "half_nan": Case(lambda x: (x.argmax(1), x.amax(1), x.clamp(0, 1), *x.sort(1)), (_ROWS.half(),)),
    "double_nan": Case(lambda x: (x.argmax(1), x.amax(1), x.clamp(0, 1), *x.sort(1)), (_ROWS.double(),)),
}
