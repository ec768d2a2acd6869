"""``host_call``: marks a function that the host program calls as it is, instead of compiling it.

Importing this is cheap: NumPy and the runtime come in with the first call.
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinMethodType, EllipsisType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from toolchain.diagnostics import UsageError
from toolchain.ir.types import TensorType

if TYPE_CHECKING:
    from runtime_py.host_calls import Kind, Results

_MARK = "_toolchain_host_call"  # which the runtime knows, too
_SCALARS = (bool, int, float, str)


@dataclass(frozen=True, slots=True)
class HostCall:
    """A function that host programs call.

    name:     what it is called by in a bundle; if nobody says otherwise, it can be imported by that.
    declared: what it gives: None, a type, or a tuple of types; ``...`` where the examples tell.
    is_plain: it takes and gives NumPy's arrays in eager PyTorch too, and not tensors.
    """

    function: Callable[..., Any]
    name: str
    declared: object = ...
    is_plain: bool = False

    @property
    def is_found(self) -> bool:
        """Whether the name leads to this function, or to none, as far as modules are loaded."""
        module, _, path = self.name.partition(":")
        try:
            found = operator.attrgetter(path)(sys.modules[module])
        except (KeyError, AttributeError):
            return True
        mark = getattr(found, _MARK, None)
        return (found if mark is None else mark.function) is self.function

    @property
    def results(self) -> Results | None:
        """What it is declared to give."""
        from runtime_py.host_calls import Results

        match self.declared:
            case EllipsisType():
                return None
            case None:
                return Results("none", ())
            case tuple():
                return Results("tuple", tuple(map(_kind, self.declared)))
            case _:
                return Results("one", (_kind(self.declared),))

    def call(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], expected: Results | None = None
    ) -> tuple[Results, tuple[Any, ...]]:
        """What a call with PyTorch's tensors gives, tensors as arrays. Raises as ``runtime_py.host_calls.call``."""
        from runtime_py import host_calls

        arrays, named = list(map(_array, args)), {k: _array(v) for k, v in kwargs.items()}
        return host_calls.call(self.name, self.function, arrays, named, expected or self.results)


def host_call(
    function: Callable[..., Any] | None = None, *, result: object = ..., name: str = ""
) -> Callable[..., Any]:
    """Has a function called by the host program as it is, where it cannot be compiled: ``@toolchain.host_call``.

    function: gets NumPy arrays in the place of tensors, which it cannot write to (NumPy scalars for tensors without
              dims), and Python values; gives arrays, NumPy scalars, ints, floats, bools, strings, a tuple of these, or
              None. In eager PyTorch arrays among its results are tensors again.
    result:   what it gives: ``int``, ``float``, ``bool``, ``str``, ``toolchain.TensorType("float32", (None, 8))``
              (None: any extent), a tuple of these, or None. Without it the examples tell.
    name:     what bundles call it; without it, module and qualified name.

    Raises ``UsageError`` TC228 for what is no function, has no name, or for a ``result`` of another kind.
    """
    if function is None:
        return functools.partial(host_call, result=result, name=name)
    made = _described(function, result, name, is_plain=False)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        exploring = sys.modules.get("toolchain.frontend.context")
        if exploring is not None:
            exploring.refuse_native_call(made.name)
        given, values = made.call(args, kwargs)
        tensors = tuple(map(as_tensor, values))
        return tensors if given.form == "tuple" else tensors[0] if tensors else None

    setattr(call, _MARK, made)
    return call


def marked(function: object) -> HostCall | None:
    """What ``host_call`` says of the function that it has made; None for any other."""
    found = vars(function).get(_MARK) if isinstance(function, FunctionType) else None
    # Another decorator may have copied the mark to what it has made of that function.
    return found if isinstance(found, HostCall) and vars(function).get("__wrapped__") is found.function else None


def as_tensor(value: Any) -> Any:
    """An array that a function gave as a tensor; everything else as it is."""
    import torch

    return torch.from_numpy(value) if hasattr(value, "dtype") else value


def as_host_call(function: Callable[..., Any]) -> HostCall:
    """A function of ``build(host_calls=...)``. Raises ``UsageError`` TC228."""
    return marked(function) or _described(function, ..., "", is_plain=True)


def _described(function: Callable[..., Any], result: object, name: str, is_plain: bool) -> HostCall:
    if not callable(function):
        raise UsageError("TC228", f"a {type(function).__name__} is no function", "pass the function itself")
    bound = isinstance(function, (MethodType, BuiltinMethodType)) and not isinstance(
        function.__self__, (ModuleType, type(None))
    )
    if bound:
        raise UsageError("TC228", f"{function!r} belongs to an object", "write a function that calls the method")
    module, qualname = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not name and not (module and qualname):
        raise UsageError("TC228", f"{function!r} has no name", "give it one: toolchain.host_call(name=...)")
    for kind in result if isinstance(result, tuple) else () if result in (..., None) else (result,):
        if kind not in _SCALARS and not isinstance(kind, TensorType):
            raise _undeclarable(kind)
    return HostCall(function, name or f"{module}:{qualname}", result, is_plain)


def _undeclarable(kind: object) -> UsageError:
    hint = 'declare int, float, bool, str, toolchain.TensorType("float32", (None, 8)), or a tuple of these'
    return UsageError("TC228", f"a host call cannot give {kind!r}", hint)


def _kind(declared: Any) -> Kind:
    from runtime_py.host_calls import ARRAY_DTYPES, Kind

    if not isinstance(declared, TensorType):
        return Kind(declared.__name__)
    if declared.dtype not in ARRAY_DTYPES.values():
        raise _undeclarable(declared)
    return Kind(declared.dtype, declared.dims)


def _array(value: Any) -> Any:
    """Tensors and arrays as arrays of their own, also in lists; everything else as it is."""
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        return np.array(value.detach().cpu().numpy())
    if isinstance(value, (np.ndarray, np.generic)):
        return np.array(value)
    return [_array(v) for v in value] if type(value) is list else value
