"""What eager checks while it runs and a compiled module does not: bounds of indices, empty reductions, zero divisors.

Also build-time evaluation of tensors that follow from constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend import torch_adapter
from toolchain.frontend.numbers import StagedBool
from toolchain.ir import BOOL, Argument, Constant, TensorOp, Value, map_argument

if TYPE_CHECKING:
    from toolchain.frontend.recorder import Recorder

aten = torch.ops.aten

# target name -> positions of (indexed tensor, index tensor, dim argument or None for dim 0), whether negatives count
# from the end, and the exception that eager raises.
_INDEXED: dict[str, tuple[int, int, int | None, bool, type[Exception], str]] = {
    "embedding": (0, 1, None, False, IndexError, "index out of range in self"),
    "gather": (0, 2, 1, False, RuntimeError, "index out of bounds"),
    "index_select": (0, 2, 1, False, IndexError, "index out of range in self"),
    "scatter": (0, 2, 1, False, RuntimeError, "index out of bounds"),
    "scatter_add": (0, 2, 1, False, RuntimeError, "index out of bounds"),
    "scatter_reduce": (0, 2, 1, False, RuntimeError, "index out of bounds"),
    "index_add": (0, 2, 1, False, IndexError, "index out of range in self"),
    "index_copy": (0, 2, 1, False, IndexError, "index out of range in self"),
    "index_fill": (0, 2, 1, True, IndexError, "index out of range in self"),
}
_NOT_EMPTY = frozenset(("max", "min", "amax", "amin", "argmax", "argmin", "median", "mode", "kthvalue", "aminmax"))
_INT_DIVISIONS = frozenset(("div", "floor_divide", "remainder", "fmod"))


def before(recorder: Recorder, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Emits the checks that an operation needs, ahead of it."""
    if name in _INDEXED:
        source, index, dim_at, wraps, exception, text = _INDEXED[name]
        dim = 0 if dim_at is None else args[dim_at]
        _check_index(recorder, args[source], args[index], dim, wraps, exception, text)
    elif name in ("index", "index_put"):
        for dim, index in enumerate(args[1]):
            if index is not None:
                _check_index(recorder, args[0], index, dim, True, IndexError, "index out of range")
    elif name in _NOT_EMPTY:
        _check_not_empty(recorder, name, args)
    elif name in _INT_DIVISIONS and isinstance(args[1], torch.Tensor):
        _check_divisor(recorder, args[0], args[1], kwargs)


def _check_index(
    recorder: Recorder,
    source: torch.Tensor,
    index: torch.Tensor,
    dim: int,
    wraps: bool,
    error: type[Exception],
    text: str,
) -> None:
    extent = source.shape[dim] if source.dim() else 1
    if recorder.ranges.is_position(recorder.value_of(index), torch_adapter.expression(extent)):
        return
    known = recorder.ranges.of(recorder.value_of(index))
    if isinstance(index.numel(), int) and index.numel() == 0:
        return
    if (
        known is not None
        and not isinstance(extent, torch.SymInt)
        and (-extent if wraps else 0) <= known[0]
        and known[1] < extent
    ):
        return
    folded = recorder.fold(recorder.value_of(index), index)
    if folded is not None and not isinstance(extent, torch.SymInt):
        with torch_adapter.real_mode():
            if bool(((folded >= (-extent if wraps else 0)) & (folded < extent)).all()):
                return
        raise error(text)
    above = recorder.apply(aten.lt.Scalar, index, extent)
    below = recorder.apply(aten.ge.Scalar, index, -extent if wraps else 0)
    inside = recorder.apply(aten.all.default, recorder.apply(aten.logical_and.default, above, below))
    _require(recorder, inside, error, text)


def _require(recorder: Recorder, condition: torch.Tensor, error: type[Exception], text: str) -> None:
    operand = recorder.host("item", (recorder.value_of(condition),), BOOL)
    recorder.check(StagedBool(operand, True), error, text)


def _check_not_empty(recorder: Recorder, name: str, args: tuple[Any, ...]) -> None:
    tensor = args[0]
    dim = args[1] if len(args) > 1 and isinstance(args[1], int) else None
    extent = tensor.numel() if dim is None else tensor.shape[dim] if tensor.dim() else 1
    if isinstance(extent, torch.SymInt):
        text = (
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
        if dim is not None:
            text = f"{name}(): Expected reduction dim {dim} to have non-zero size."
        recorder.require_staged(extent > 0, RuntimeError if dim is None else IndexError, text)


def _check_divisor(recorder: Recorder, dividend: Any, divisor: torch.Tensor, kwargs: dict[str, Any]) -> None:
    integral = not divisor.is_floating_point() and not (
        isinstance(dividend, torch.Tensor) and dividend.is_floating_point()
    )
    if not integral or (kwargs.get("rounding_mode", "floor") is None):
        return
    known = recorder.ranges.of(recorder.value_of(divisor))
    if known is not None and (known[0] > 0 or known[1] < 0):
        return
    nonzero = recorder.apply(aten.all.default, recorder.apply(aten.ne.Scalar, divisor, 0))
    _require(recorder, nonzero, RuntimeError, "ZeroDivisionError")


# What follows the name of the function in eager's text, which also has the place.
_LINALG_ERROR: type[Exception] = vars(torch.linalg)["LinAlgError"]
_LINALG_TEXTS = {
    "inv": "The diagonal element is zero, the inversion could not be completed because the input matrix is singular.",
    "solve": "The solver failed because the input matrix is singular.",
    "cholesky": "The factorization could not be completed because the input is not positive-definite.",
}


def check_linalg(recorder: Recorder, info: torch.Tensor, api: str) -> None:
    """Raises ``torch.linalg.LinAlgError`` where a computation says that it failed."""
    fine = recorder.apply(aten.all.default, recorder.apply(aten.eq.Scalar, info, 0))
    text = _LINALG_TEXTS.get(api.split(".")[-1], "The algorithm failed.")
    _require(recorder, fine, _LINALG_ERROR, f"{api}: {text}")


_NOT_FOLDED = frozenset(
    ("rand", "randn", "randint", "bernoulli", "multinomial", "normal", "uniform", "randperm", "dropout")
)


def fold(
    operand: object, definitions: dict[int, tuple[TensorOp, int]], constants: dict[str, torch.Tensor], depth: int = 0
) -> torch.Tensor | None:
    """Evaluates ``operand`` if it depends on constants and literals alone."""
    if isinstance(operand, Constant):
        return constants[operand.name]
    if not isinstance(operand, Value) or operand.id not in definitions or depth > 40:
        return None
    operation, index = definitions[operand.id]
    missing = False

    def leaf(x: Argument) -> Argument:
        nonlocal missing
        if isinstance(x, (Constant, Value)):
            tensor = None if missing else fold(x, definitions, constants, depth + 1)
            missing = missing or tensor is None
            return tensor
        return x

    if operation.target.split(".")[1] in _NOT_FOLDED:
        return None
    args = map_argument(operation.args, leaf)
    kwargs = {k: map_argument(v, leaf) for k, v in operation.kwargs}
    if missing or any(isinstance(a, torch.Tensor) and a.numel() > 65536 for a in args):
        return None
    namespace, name, overload = operation.target.split(".")
    with torch_adapter.real_mode():
        result = getattr(getattr(getattr(torch.ops, namespace), name), overload)(*args, **kwargs)
    found = result[index] if isinstance(result, (tuple, list)) else result
    return found if isinstance(found, torch.Tensor) else None
