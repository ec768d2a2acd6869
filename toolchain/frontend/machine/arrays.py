"""NumPy on tensor data: PyTorch's own NumPy layer computes, NumPy itself tells what comes out.

An array of run time is a tensor in NumPy's clothes. A call is made twice: with arrays of ones, to learn from NumPy the
dtype, the kind (array or scalar) and the sharing of memory, and with tensors, through ``torch._numpy``, to record it.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from toolchain.frontend import torch_adapter
from toolchain.frontend.machine import border, operations
from toolchain.frontend.numbers import StagedBool, StagedFloat, StagedInt, StagedNumber
from toolchain.frontend.signals import Unsupported
from toolchain.frontend.staged import Array, HostList, Scalar

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine

tnp: Any = importlib.import_module("torch._numpy")
_DTYPES: dict[torch.dtype, Any] = {
    torch.float32: np.float32, torch.float64: np.float64, torch.int64: np.int64, torch.int32: np.int32,
    torch.bool: np.bool_,
}  # fmt: skip
_FROM_NUMPY: dict[Any, torch.dtype] = {np.dtype(n): t for t, n in _DTYPES.items()}
# Functions that agree with NumPy on all of these dtypes, once their results have NumPy's dtype (tests/frontend).
FUNCTIONS = frozenset(
    [
        "abs", "absolute", "add", "all", "amax", "amin", "any", "argmax", "argmin", "argsort", "argwhere", "around",
        "array", "asarray", "average", "atleast_1d", "atleast_2d", "ceil", "clip", "concatenate", "copy", "cos", "cosh",
        "count_nonzero", "cumprod", "cumsum", "diagonal", "diff", "divide", "dot", "dstack", "equal", "exp",
        "exp2", "expand_dims", "expm1", "flatnonzero", "floor", "fmax", "fmin", "full_like",
        "greater", "greater_equal", "hstack", "inner", "isclose", "isfinite", "isinf", "isnan", "less", "less_equal",
        "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul", "max",
        "maximum", "mean", "median", "min", "minimum", "moveaxis", "multiply", "nan_to_num", "negative", "nonzero",
        "not_equal", "ones_like", "percentile", "prod", "ptp", "quantile", "ravel", "reshape", "roll", "round", "sign",
        "signbit", "sin", "sinh", "sort", "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "swapaxes",
        "take", "tan", "tanh", "tile", "trace", "transpose", "tril", "triu", "true_divide", "var", "vstack", "where",
        "zeros_like",
    ]
)  # fmt: skip
METHODS = frozenset(
    [
        "all", "any", "argmax", "argmin", "argsort", "astype", "clip", "copy", "cumprod", "cumsum", "diagonal", "dot",
        "flatten", "item", "max", "mean", "min", "nonzero", "prod", "ravel", "reshape", "round", "squeeze", "std",
        "sum", "swapaxes", "tolist", "trace", "transpose", "var",
    ]
)  # fmt: skip
_OPERATORS = frozenset(
    [
        "add", "sub", "mul", "truediv", "matmul", "and_", "or_", "xor", "lt", "le", "eq", "ne", "gt", "ge",
        "iadd", "isub", "imul", "itruediv", "neg", "pos", "invert", "abs", "pow",
    ]
)  # fmt: skip


class Arrays:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def of(self, tensor: torch.Tensor) -> Array:
        """``tensor.numpy()``."""
        if tensor.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if tensor.dtype not in _DTYPES:
            raise _refusal(f"Tensor.numpy() of a {tensor.dtype} tensor")
        return Array(tensor.detach())

    def read(self, value: Array) -> Any:
        """The only element as a staged number."""
        if value.tensor.numel() != 1:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        return self._machine.recorder.read(value.tensor)

    # ---- attributes

    def attribute(self, owner: Array, name: str) -> Any:
        tensor = owner.tensor
        if name == "shape":
            return tuple(border.box(self._machine.recorder, n) for n in tensor.shape)
        if name == "size":
            return border.box(self._machine.recorder, tensor.numel())
        if name == "ndim":
            return tensor.dim()
        if name == "dtype":
            return np.dtype(_DTYPES[tensor.dtype])
        if name == "T":
            return self.call(np.transpose, (owner,), {})
        if name not in METHODS:
            raise _refusal(f"ndarray.{name}")
        return functools.partial(getattr(np.ndarray, name), owner)

    # ---- items

    def get(self, owner: Array, key: Any) -> Any:
        found = operations.tensor_item(self._machine, owner.tensor, self._key(owner, key))
        return Array(found) if found.dim() else Scalar(found.clone())

    def set(self, owner: Array, key: Any, value: Any) -> None:
        content = value.tensor if isinstance(value, Array) else value
        if isinstance(content, StagedNumber):
            content = self._machine.calls.tensors.from_scalar(content, owner.tensor.dtype)
        operations.set_tensor_item(self._machine, owner.tensor, self._key(owner, key), content)

    def _key(self, owner: Array, key: Any) -> Any:
        """A key that means the same to PyTorch: basic indexing, or one array of indices or of truths alone."""
        parts = key if isinstance(key, tuple) else (key,)
        if len(parts) == 1 and isinstance(parts[0], (Array, list)):
            return parts[0].tensor if isinstance(parts[0], Array) else parts[0]
        for part in parts:
            forward = isinstance(part, slice) and (part.step is None or (isinstance(part.step, int) and part.step > 0))
            if not (forward or part is None or part is Ellipsis or (isinstance(part, (int, StagedInt)))):
                raise _refusal("indexing an array like this")
        return key

    def elements(self, owner: Array) -> list[Any]:
        if isinstance(owner, Scalar) or not owner.tensor.dim():
            raise TypeError("iteration over a 0-d array")
        if not isinstance(owner.tensor.shape[0], int):
            raise _refusal("iterating over an array of unknown length")
        return [Array(t) if t.dim() else Scalar(t.clone()) for t in owner.tensor.unbind(0)]

    # ---- calls

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of NumPy, or a method of ``np.ndarray``."""
        name = getattr(function, "__name__", "")
        if getattr(function, "__objclass__", None) is np.ndarray:
            return self._method(name, args[0], args[1:], kwargs)
        if name not in FUNCTIONS or getattr(np, name, None) is not function:
            raise _refusal(f"numpy.{name or function}")
        if any(isinstance(a, torch.Tensor) for a in args) and name not in ("array", "asarray"):
            raise _refusal(f"numpy.{name} of a tensor")
        return self._apply(function, getattr(tnp, name), args, kwargs, name)

    def _method(self, name: str, owner: Array, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name == "tolist":
            return self._machine.calls.tensors.to_list(owner.tensor)
        if name == "item" and not args:
            return self.read(owner)
        if name == "astype" and len(args) == 1 and not kwargs and np.dtype(args[0]) in _FROM_NUMPY:
            return type(owner)(owner.tensor.to(_FROM_NUMPY[np.dtype(args[0])], copy=True))
        if name in ("item", "astype"):
            raise _refusal(f"ndarray.{name} with such arguments")

        def use(*values: Any, **named: Any) -> Any:
            return getattr(values[0], name)(*values[1:], **named)

        return self._apply(use, use, (owner, *args), kwargs, name)

    def operator(self, function: Any, *operands: Any) -> Any:
        """An operator with an array among its operands."""
        if function.__name__ not in _OPERATORS or any(isinstance(o, torch.Tensor) for o in operands):
            raise _refusal(f"the operator {function.__name__} on these values")
        return self._apply(function, function, operands, {}, function.__name__)

    def _apply(self, ours: Any, theirs: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
        """``ours`` is called with NumPy's arrays, ``theirs`` with those of ``torch._numpy``."""
        ones = _Ones()
        try:
            with torch_adapter.real_mode(), warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                like = ours(*map(ones, args), **{k: ones(v) for k, v in kwargs.items()})
                row, named = map(_Ones(), args), {k: _Ones()(v) for k, v in kwargs.items()}
                trial = theirs(*map(_theirs, row), **{k: _theirs(v) for k, v in named.items()})
        except Exception as error:
            raise _refusal(f"numpy.{name} with such arguments ({error})") from error
        inputs = _Tensors(self._machine, args, _wider(trial, like))
        try:
            found = theirs(*map(inputs, args), **{k: inputs(v) for k, v in kwargs.items()})
        except Exception as error:
            raise _refusal(f"numpy.{name} on data of run time ({type(error).__name__}: {error})") from error
        written = kwargs.get("out") if "out" in kwargs else args[0] if name in _IN_PLACE else None
        return written if isinstance(written, Array) else self._result(found, like, ones, inputs)

    def _result(self, found: Any, like: Any, ones: _Ones, inputs: _Tensors) -> Any:
        if isinstance(like, (tuple, list)):
            return type(like)(self._result(f, x, ones, inputs) for f, x in zip(found, like, strict=True))
        if not isinstance(like, (np.ndarray, np.generic)) or like.dtype not in _FROM_NUMPY:
            raise _refusal(f"a result of type {type(like).__name__}")
        tensor = found.tensor if isinstance(found, tnp.ndarray) else torch.as_tensor(found)
        if tuple(tensor.shape) == (1,) and not like.ndim:  # ``median`` and ``quantile``
            tensor = tensor.reshape(())
        if tensor.dim() != like.ndim:
            raise _refusal("a result whose rank depends on the data")
        tensor = tensor.to(_FROM_NUMPY[like.dtype])
        shared = [t for t in inputs.tensors if _same_memory(self._machine, t, tensor)]
        if isinstance(like, np.generic):
            return Scalar(tensor.clone() if shared else tensor)
        expected = any(np.may_share_memory(like, d) for d in ones.arrays)
        if expected and not shared:
            raise _refusal("a view that PyTorch has no counterpart of")
        return Array(tensor.clone() if shared and not expected else tensor)


_IN_PLACE = frozenset(("iadd", "isub", "imul", "itruediv"))


class _Ones:
    """Stands in for values of run time: arrays of ones of the same dtype and rank."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []

    def __call__(self, value: Any) -> Any:
        if isinstance(value, (Array, torch.Tensor)):
            tensor = value.tensor if isinstance(value, Array) else value
            if tensor.dtype not in _DTYPES:
                raise TypeError(f"a {tensor.dtype} tensor")
            made: Any = np.ones([n if isinstance(n, int) else 2 for n in tensor.shape], _DTYPES[tensor.dtype])
            self.arrays.append(made)
            return made[()] if isinstance(value, Scalar) else made
        if isinstance(value, StagedNumber):
            return True if isinstance(value, StagedBool) else 1.0 if isinstance(value, StagedFloat) else 1
        if isinstance(value, HostList):
            raise TypeError("a list of unknown length")
        return type(value)(map(self, value)) if type(value) in (list, tuple) else value


class _Tensors:
    """Makes arrays of ``torch._numpy`` of the arguments. wide: the dtype to compute in, if not that of the data."""

    def __init__(self, machine: Machine, args: Any, wide: torch.dtype | None = None) -> None:
        self._machine = machine
        self._wide = wide
        floats = [a.tensor.dtype for a in args if isinstance(a, Array) and a.tensor.is_floating_point()]
        self._float = floats[0] if floats else torch.float64
        self.tensors: list[torch.Tensor] = []

    def __call__(self, value: Any) -> Any:
        if isinstance(value, StagedNumber):
            kind = self._float if isinstance(value, StagedFloat) else None
            return tnp.ndarray(self._machine.calls.tensors.from_scalar(value, kind))
        if isinstance(value, np.ndarray) or (type(value) is list and _is_row_of_numbers(value)):
            return self._made(value)
        if isinstance(value, (Array, torch.Tensor)):
            return self._array(value.tensor if isinstance(value, Array) else value)
        return type(value)(map(self, value)) if type(value) in (list, tuple) else _theirs(value)

    def _array(self, tensor: torch.Tensor) -> Any:
        self.tensors.append(tensor)
        return tnp.ndarray(tensor if self._wide is None else tensor.to(self._wide))

    def _made(self, value: Any) -> Any:
        """A list of numbers of run time, or an array of the build."""
        if isinstance(value, np.ndarray):
            return self._array(torch.tensor(value))
        with torch_adapter.real_mode():
            dtype = _FROM_NUMPY[np.asarray(_Ones()(value)).dtype]
        return self._array(self._machine.calls.tensors.from_nested(value, dtype))


def _is_row_of_numbers(value: list[Any]) -> bool:
    return any(isinstance(v, (StagedNumber, torch.Tensor)) for v in value)


def _theirs(value: Any) -> Any:
    """A value of NumPy's in terms of ``torch._numpy``."""
    if isinstance(value, (np.ndarray, np.generic)):
        return tnp.ndarray(torch.tensor(value))
    if isinstance(value, (np.dtype, type)):
        return tnp.dtype(np.dtype(value).name.replace("bool", "bool_"))
    return type(value)(map(_theirs, value)) if type(value) in (list, tuple) else value


def _wider(trial: Any, like: Any) -> torch.dtype | None:
    """The dtype to compute in where PyTorch takes fewer bits, or integers where NumPy takes floats."""
    if not isinstance(trial, tnp.ndarray) or not isinstance(like, (np.ndarray, np.generic)):
        return None
    wanted = _FROM_NUMPY.get(like.dtype)
    return wanted if wanted is not None and wanted.is_floating_point and trial.tensor.dtype != wanted else None


def _same_memory(machine: Machine, a: torch.Tensor, b: torch.Tensor) -> bool:
    if machine.recorder.is_symbolic:
        return machine.recorder.view_of(a).storage is machine.recorder.view_of(b).storage
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def _refusal(what: str) -> Unsupported:
    return Unsupported("TC161", f"{what} cannot be staged", "use the PyTorch function of the same meaning")


def array_type(value: Array) -> type:
    """``type(value)``."""
    return _DTYPES[value.tensor.dtype] if isinstance(value, Scalar) else np.ndarray


def is_numpy(function: Any) -> bool:
    """Whether ``function`` is NumPy's."""
    owner = getattr(function, "__objclass__", None) or type(function)
    module = getattr(function, "__module__", None) or getattr(owner, "__module__", None) or ""
    return str(module).split(".")[0] == "numpy"


__all__ = ["FUNCTIONS", "METHODS", "Arrays", "array_type", "is_numpy"]
