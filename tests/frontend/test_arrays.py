"""Every function of NumPy that tensors stand in for gives what NumPy gives, or is refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from toolchain.frontend.eager import NotFollowed, run_eager
from toolchain.frontend.machine.arrays import FUNCTIONS, METHODS

_DTYPES = (np.float32, np.float64, np.int64, np.int32, np.bool_)
_BINARY = frozenset(
    [
        "add", "divide", "equal", "fmax", "fmin", "greater", "greater_equal", "isclose", "less", "less_equal",
        "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "not_equal", "subtract",
        "true_divide",
    ]
)  # fmt: skip
# Arguments after the array; the others take none.
_MORE: dict[str, tuple[Any, ...]] = {
    "clip": (-1, 1),
    "expand_dims": (0,),
    "full_like": (2,),
    "moveaxis": (0, 1),
    "percentile": ([10, 90],),
    "quantile": (0.3,),
    "reshape": ((-1,),),
    "roll": (1,),
    "swapaxes": (0, 1),
    "take": ([0, 1],),
    "tile": (2,),
    "astype": (np.float64,),
}
_OF_SEQUENCES = frozenset(("concatenate", "stack", "hstack", "vstack", "dstack"))
_PRODUCTS = frozenset(("dot", "matmul", "inner"))


def _data(dtype: Any) -> Any:
    values = np.random.default_rng(0).normal(size=(3, 4)) * 3
    return values > 0 if dtype is np.bool_ else values.astype(dtype)


def _call(name: str) -> Callable[[Any], Any]:
    function = getattr(np, name)
    if name in _BINARY:
        return lambda a: function(a, a[::2][:1])
    if name in _OF_SEQUENCES:
        return lambda a: function([a, a])
    if name in _PRODUCTS:
        return lambda a: function(a, a if name == "inner" else a.T)
    if name == "where":
        return lambda a: function(a > 1, a, a + a)
    more = _MORE.get(name, ())
    return lambda a: function(a, *more)


def _agrees(call: Callable[[Any], Any], dtype: Any) -> bool:
    """Whether the machine follows ``call`` on this dtype; asserts that it then gives what NumPy gives."""
    data = _data(dtype)

    def program(x: torch.Tensor) -> Any:
        out = call(x.numpy())
        return [torch.as_tensor(o) for o in out] if isinstance(out, tuple) else torch.as_tensor(out)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            wanted = program(torch.from_numpy(data.copy()))
        except (TypeError, ValueError, RuntimeError):  # NumPy refuses the dtype, or PyTorch that of the result
            wanted = None
        try:
            run = run_eager(program, (torch.from_numpy(data.copy()),), {}, lambda where, answer: answer)
        except NotFollowed:
            return False
    assert wanted is not None, run
    assert run.exception is None, run.exception
    torch.testing.assert_close(run.result, wanted, rtol=1e-4, atol=1e-5, equal_nan=True, check_stride=False)
    return True


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions(name):
    followed = [_agrees(_call(name), dtype) for dtype in _DTYPES]
    assert followed[0], "not even float32"


@pytest.mark.parametrize("name", sorted(METHODS - {"tolist", "item", "dot"}))
def test_methods(name):
    more = _MORE.get(name, ())
    followed = [_agrees(lambda a: getattr(a, name)(*more), dtype) for dtype in _DTYPES]
    assert followed[0], "not even float32"


def test_axes_and_dtypes():
    calls = [
        lambda a: a.mean(axis=1),
        lambda a: np.sum(a, axis=0, keepdims=True),
        lambda a: np.std(a, axis=-1, ddof=1),
        lambda a: np.argmax(a, axis=1),
        lambda a: a.sum(dtype=np.float64),
        lambda a: np.concatenate([a, a], axis=1),
        lambda a: a * 2.5 + a / 2 - a.max(),
        lambda a: (a > 1) & ~(a > 2),
    ]
    followed = [[_agrees(call, dtype) for dtype in (np.float32, np.int64)] for call in calls]
    assert all(map(all, followed)), followed
