"""Common operations, each as a function with inputs: what must lower and agree with PyTorch."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.lowering.support import Case

_RANDOM = torch.Generator().manual_seed(7)


def _x(*dims: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(dims, generator=_RANDOM).to(dtype)


def _i(high: int, *dims: int, low: int = 0, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(low, high, dims, generator=_RANDOM).to(dtype)


def _b(*dims: int) -> torch.Tensor:
    return _x(*dims) > 0


def _lstm_cell(x, h, c, wi, wh, bi, bh):
    return torch.lstm_cell(x, (h, c), wi, wh, bi, bh)


def _bn(x, w, b, m, v):
    return F.batch_norm(x, m, v, w, b)


def _bn_train(x, w, b):
    return torch.ops.aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5)[0]


_WEIGHTS_LSTM = (_x(32, 8), _x(32, 8), _x(32), _x(32))
# torch-mlir folds these for a constant tensor, and took the integer's bits for a number in floating point.
_WITH_INTEGERS = (
    *(lambda c, f=f: f(c, 1) for f in (torch.gt, torch.ge, torch.lt, torch.le, torch.eq, torch.ne)),
    *(lambda c, f=f: f(c, -2) for f in (torch.add, torch.sub, torch.mul, torch.div, torch.fmod, torch.remainder)),
    *(lambda c, f=f: f(c, 2) for f in (torch.clamp_min, torch.clamp_max, torch.pow, torch.rsub, torch.floor_divide)),
    lambda c: c.clamp(-1, 2),
    lambda c: torch.where(c > 2, c, -1),
    lambda c: c.masked_fill(c > 2, -1),
    lambda c: F.threshold(c, 2, -1),
    F.relu6,
    F.hardswish,
)
_BF16, _F16, _F64 = torch.bfloat16, torch.float16, torch.float64

CASES: dict[str, Case] = {
    "linear": Case(F.linear, (_x(2, 8),), (_x(4, 8), _x(4))),
    "matmul_batched": Case(torch.matmul, (_x(2, 3, 4), _x(2, 4, 5))),
    "einsum": Case(lambda a, b: torch.einsum("bij,bkj->bik", a, b), (_x(2, 3, 4), _x(2, 5, 4))),
    "conv2d": Case(lambda x, w, b: F.conv2d(x, w, b, padding=1), (_x(1, 3, 8, 8),), (_x(4, 3, 3, 3), _x(4))),
    "conv2d_grouped_strided": Case(
        lambda x, w: F.conv2d(x, w, stride=2, groups=2), (_x(1, 4, 8, 8),), (_x(4, 2, 3, 3),)
    ),
    "conv_transpose2d": Case(lambda x, w: F.conv_transpose2d(x, w, stride=2), (_x(1, 3, 4, 4),), (_x(3, 2, 3, 3),)),
    "conv1d": Case(F.conv1d, (_x(1, 3, 10),), (_x(4, 3, 3), _x(4))),
    "lstm_cell": Case(_lstm_cell, (_x(1, 8), _x(1, 8), _x(1, 8)), _WEIGHTS_LSTM),
    "sdpa": Case(F.scaled_dot_product_attention, (_x(1, 2, 5, 8), _x(1, 2, 5, 8), _x(1, 2, 5, 8))),
    "sdpa_causal": Case(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        (_x(1, 2, 5, 8), _x(1, 2, 5, 8), _x(1, 2, 5, 8)),
    ),
    "embedding": Case(lambda i, w: F.embedding(i, w), (_i(10, 2, 3),), (_x(10, 4),)),
    "layer_norm": Case(lambda x, w, b: F.layer_norm(x, (8,), w, b), (_x(2, 3, 8),), (_x(8), _x(8))),
    "group_norm": Case(lambda x, w, b: F.group_norm(x, 2, w, b), (_x(1, 4, 5, 5),), (_x(4), _x(4))),
    "batch_norm": Case(_bn, (_x(2, 4, 5, 5),), (_x(4), _x(4), _x(4), _x(4).abs() + 0.5)),
    "batch_norm_training": Case(_bn_train, (_x(2, 4, 5, 5),), (_x(4), _x(4))),
    "rms_norm": Case(lambda x, w: F.rms_norm(x, (8,), w, 1e-6), (_x(2, 8),), (_x(8),)),
    "softmax": Case(lambda x: F.softmax(x, -1), (_x(2, 7),)),
    "log_softmax": Case(lambda x: F.log_softmax(x, -1), (_x(2, 7),)),
    "logsumexp": Case(lambda x: torch.logsumexp(x, 1), (_x(2, 7),)),
    "gelu_silu_elu": Case(lambda x: (F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.elu(x)), (_x(3, 5),)),
    "hard_activations": Case(lambda x: (F.hardtanh(x), F.hardswish(x), F.hardsigmoid(x), F.relu6(x)), (_x(3, 5) * 4,)),
    "leaky_softplus_mish": Case(lambda x: (F.leaky_relu(x), F.softplus(x), F.mish(x), F.logsigmoid(x)), (_x(3, 5),)),
    "unary_math": Case(
        lambda x: (x.exp(), x.abs().log(), x.sin(), x.tanh(), x.sigmoid(), x.erf(), x.abs().sqrt(), x.abs().rsqrt()),
        (_x(3, 5),),
    ),
    "rounding": Case(lambda x: (x.round(), x.floor(), x.ceil(), x.trunc(), x.frac(), x.sign()), (_x(3, 5) * 3,)),
    "round_half": Case(lambda x: x.round(), (torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]),)),
    "max_pool": Case(lambda x: F.max_pool2d(x, 2), (_x(1, 3, 8, 8),)),
    "avg_pool": Case(lambda x: F.avg_pool2d(x, 3, 2, 1), (_x(1, 3, 8, 8),)),
    "adaptive_avg_pool": Case(lambda x: (F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, 2)), (_x(1, 3, 8, 8),)),
    "interpolate_nearest": Case(lambda x: F.interpolate(x, scale_factor=2.0), (_x(1, 3, 4, 4),)),
    "interpolate_bilinear": Case(
        lambda x: F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=False), (_x(1, 3, 4, 4),)
    ),
    "grid_sample": Case(lambda x, g: F.grid_sample(x, g, align_corners=False), (_x(1, 2, 5, 5), _x(1, 3, 3, 2).tanh())),
    "pad": Case(lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, 1), mode="reflect")), (_x(2, 3, 5),)),
    "unfold": Case(lambda x: F.unfold(x, 3), (_x(1, 2, 5, 5),)),
    "cumsum": Case(lambda x: torch.cumsum(x, 1), (_x(2, 6),)),
    "cumprod": Case(lambda x: torch.cumprod(x, 1), (_x(2, 6),)),
    "constants_and_integers": Case(
        lambda x: tuple(
            operation(constant)
            for constant in (torch.full([5], 5, dtype=x.dtype), torch.ones(5), torch.full([], 3.0, dtype=x.dtype))
            for operation in _WITH_INTEGERS
        ),
        (_x(2),),
    ),
    "constants_and_integers_double": Case(
        lambda x: tuple(operation(torch.full([5], 5, dtype=x.dtype)) for operation in _WITH_INTEGERS),
        (_x(2, dtype=_F64),),
    ),
    "reductions": Case(lambda x: (x.sum(), x.mean(1), x.amax(0), x.amin(), x.prod(1), x.var(1), x.std()), (_x(3, 5),)),
    "norms": Case(lambda x: (x.norm(), torch.linalg.vector_norm(x, 1, dim=1), F.normalize(x, dim=1)), (_x(3, 5),)),
    "any_all": Case(lambda b: (b.any(), b.all(), b.any(1), b.all(0)), (_b(3, 5),)),
    "argmax_argmin": Case(lambda x: (x.argmax(), x.argmax(1), x.argmin(0), x.argmax(1, keepdim=True)), (_x(3, 5),)),
    "max_min_dim": Case(lambda x: (*x.max(1), *x.min(0)), (_x(3, 5),)),
    "topk": Case(lambda x: tuple(x.topk(3)), (_x(2, 9),)),
    "topk_smallest": Case(lambda x: tuple(x.topk(2, dim=0, largest=False)), (_x(5, 3),)),
    "sort": Case(lambda x: (*x.sort(1), *x.sort(0, descending=True)), (_x(4, 7),)),
    "argsort_stable": Case(lambda x: torch.argsort(x, dim=1, stable=True), (_i(4, 3, 9),)),
    "gather_scatter": Case(
        lambda x, i, s: (x.gather(1, i), x.scatter(1, i, s), x.scatter_add(1, i, s)),
        (_x(3, 5), torch.tensor([[0, 2], [1, 4], [3, 0]]), _x(3, 2)),
    ),
    "index_select": Case(lambda x, i: (x.index_select(0, i), x[:, i]), (_x(5, 6), torch.tensor([4, 0, 2]))),
    "index_put": Case(lambda x, i, v: torch.index_put(x, (i,), v), (_x(5, 3), torch.tensor([3, 1]), _x(2, 3))),
    "index_put_accumulate": Case(
        lambda x, i, v: torch.index_put(x, (i,), v, accumulate=True), (_x(5, 3), torch.tensor([3, 3]), _x(2, 3))
    ),
    "index_negative": Case(lambda x, i: x[i], (_x(5, 3), torch.tensor([-1, 0, -5]))),
    "nonzero": Case(lambda x: torch.nonzero(x > 0), (_x(4, 3),)),
    "boolean_mask": Case(lambda x: x[x > 0], (_x(4, 3),)),
    "boolean_mask_of_rows": Case(lambda x, m: x[m], (_x(4, 3), torch.tensor([True, False, True, False]))),
    "masked_select": Case(lambda x, m: torch.masked_select(x, m), (_x(4, 3), _b(4, 3))),
    "masked_fill": Case(lambda x, m: x.masked_fill(m, float("-inf")), (_x(4, 3), _b(4, 3))),
    "index_put_one_value": Case(
        lambda x, i, v: torch.index_put(x, (i,), v),
        (_x(5, 3), torch.tensor([3, 1]), torch.tensor(2.0)),
        dynamic=True,
        runs=((_x(2, 4), torch.tensor([0]), torch.tensor(3.0)),),
    ),
    "inverse": Case(torch.linalg.inv_ex, (_x(3, 4, 4),)),
    "inverse_singular": Case(lambda x: torch.linalg.inv_ex(x)[1], (torch.tensor([[[1.0, 2.0], [2.0, 4.0]]] * 2),)),
    "solve_linear": Case(lambda a, b: torch.linalg.solve_ex(a, b)[0], (_x(2, 3, 3), _x(2, 3, 2))),
    "solve_linear_vector": Case(lambda a, b: torch.linalg.solve_ex(a, b)[0], (_x(3, 3), _x(3))),
    "determinant": Case(torch.linalg.det, (_x(2, 5, 5),)),
    "index_put_mask": Case(lambda x, m, v: torch.index_put(x, (m,), v), (_x(4, 3), _b(4, 3), torch.tensor(2.0))),
    "where": Case(lambda m, a, b: (torch.where(m, a, b), torch.where(m, a, 0.0)), (_b(4, 3), _x(4, 3), _x(4, 3))),
    "comparisons": Case(lambda a, b: (a > b, a == b, a <= 0, a.ne(b), a.isnan(), a.isinf()), (_x(4, 3), _x(4, 3))),
    "logical": Case(lambda a, b: (a & b, a | b, a ^ b, ~a, torch.logical_and(a, b)), (_b(4, 3), _b(4, 3))),
    "bool_scalar": Case(lambda x: (x.sum() > 0, (x > 0).sum(), x.bool()), (_x(4, 3),)),
    "int_arithmetic": Case(
        lambda a, b: (a + b, a * b, a - b, a // b, a % b, torch.div(a, b, rounding_mode="trunc"), a / b, -a),
        (_i(20, 4, 3, low=-20), torch.tensor([-3, 2, 7])),
    ),
    "int_bitwise": Case(lambda a, b: (a & b, a | b, a ^ b, ~a, a << 2, a >> 1), (_i(99, 6, low=-99), _i(99, 6))),
    "int_narrow": Case(
        lambda a, b: (a.int() * 3, b.to(torch.uint8) + 1, a.to(torch.int8) // 2), (_i(20, 6, low=-20), _i(200, 6))
    ),
    "float_remainder": Case(lambda a, b: (a % b, torch.fmod(a, b), torch.floor_divide(a, b)), (_x(9) * 5, _x(9))),
    "casts": Case(lambda x: (x.long(), x.int(), x.half(), x.bfloat16(), x.double(), x.bool()), (_x(4, 3) * 5,)),
    "float64": Case(lambda x, w: (x @ w, x.exp(), x.sum()), (_x(3, 4, dtype=_F64),), (_x(4, 2, dtype=_F64),)),
    "float16": Case(lambda x, w: (x @ w, F.softmax(x, -1)), (_x(3, 4, dtype=_F16),), (_x(4, 2, dtype=_F16),)),
    "bfloat16": Case(lambda x, w: (x @ w, F.softmax(x, -1)), (_x(3, 4, dtype=_BF16),), (_x(4, 2, dtype=_BF16),)),
    "pow": Case(lambda x: (x**2, x.abs() ** 0.5, 2.0**x, x.abs().pow(x)), (_x(3, 5),)),
    "clamp": Case(lambda x: (x.clamp(-0.5, 0.5), x.clamp(min=0), x.clamp_max(0.1)), (_x(3, 5),)),
    "minimum_maximum": Case(lambda a, b: (torch.minimum(a, b), torch.maximum(a, b)), (_x(3, 5), _x(3, 5))),
    "cat_stack_split": Case(
        lambda a, b: (torch.cat([a, b], 1), torch.stack([a, b]), *a.split(2, 1), *a.chunk(2, 1), *a.unbind(0)),
        (_x(3, 4), _x(3, 4)),
    ),
    "views": Case(
        lambda x: (x.reshape(2, 6), x.t(), x.permute(1, 0), x.unsqueeze(1).expand(3, 2, 4), x.flatten(), x[1:, ::2]),
        (_x(3, 4),),
    ),
    "flip_roll_repeat": Case(lambda x: (x.flip(0), x.roll(1, 1), x.repeat(2, 1), x.tile(2)), (_x(3, 4),)),
    "tril_triu_diag": Case(lambda x: (x.tril(), x.triu(1), torch.diagonal(x), torch.diag(x)), (_x(4, 4),)),
    "factories": Case(
        lambda x: (x + torch.arange(4), torch.zeros_like(x), torch.full((2,), 3.5), torch.ones(3, dtype=torch.int64)),
        (_x(3, 4),),
    ),
    "cross_entropy": Case(lambda x, i: F.cross_entropy(x, i), (_x(3, 5), _i(5, 3))),
    "cosine_and_distance": Case(lambda a, b: (F.cosine_similarity(a, b), torch.cdist(a, b)), (_x(3, 5), _x(3, 5))),
    "pixel_shuffle": Case(lambda x: F.pixel_shuffle(x, 2), (_x(1, 8, 3, 3),)),
    "empty": Case(lambda x: (x + 1, x.sum(), torch.cat([x, x])), (_x(0, 3),)),
    "bytes_unsigned": Case(
        lambda x, u: (x * u, u + 100, u // 3, u == 200, u > 150, u.max(), u.sum(), u.argmax(), u.float(), u & 7),
        (_x(4), torch.tensor([1, 200, 255, 7], dtype=torch.uint8)),
    ),
    "bytes_signed": Case(
        lambda a: (a + 100, a // 3, a % 3, a == -2, a.max(), a.min(), -a, a.abs(), a.float()),
        (torch.tensor([1, -2, 127, -100], dtype=torch.int8),),
    ),
    "bytes_from_numbers": Case(
        lambda i, x: (i.to(torch.uint8), x.to(torch.uint8), i.to(torch.int8)),
        (torch.tensor([1, 200, 255]), torch.tensor([1.0, 200.9, 255.0])),
    ),
    "outer_trace_baddbmm": Case(
        lambda a, b, c: (torch.outer(a, a), torch.trace(b), torch.baddbmm(c, c, c)), (_x(3), _x(3, 3), _x(2, 3, 3))
    ),
    "weights_of_every_kind": Case(
        lambda x, b, u, i, h: (torch.where(b, x, -x), x * u, x[i], x + h),
        (_x(4),),
        (
            torch.tensor([True, False, True, True]),
            _i(200, 4, dtype=torch.uint8),
            torch.tensor([3, 0]),
            _x(4, dtype=_F16),
        ),
    ),
    "weight_0d": Case(lambda x, s: x * s, (_x(4),), (torch.tensor(2.5),)),
}
