"""Calls that the host program makes itself, of functions that the user has named (``toolchain.host_call``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from runtime_py.host_calls import ARRAY_DTYPES, Kind, Results
from toolchain.frontend.constants import dtype_name
from toolchain.frontend.context import NO_ORIGINS, Staged, scalar_type
from toolchain.frontend.host_calls import HostCalls, Kinds
from toolchain.frontend.numbers import StagedNumber
from toolchain.frontend.signals import ExamplesNeeded, Unsupported
from toolchain.frontend.staged import Array, HostList, Scalar, StagedStr, operand_of
from toolchain.frontend.templates import make_part
from toolchain.host_calls import HostCall, as_tensor
from toolchain.ir import HOST_CALL, Operand, ScalarType, TensorType, Type

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine

_DTYPES = frozenset(ARRAY_DTYPES.values())
_SCALARS = (bool, int, float, str, StagedNumber, StagedStr)


class HostCaller:
    """known: the functions, and what they give."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.known = HostCalls()

    def call(self, made: HostCall, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``made.function(*args, **kwargs)``: an operation of the host program, or at once in an eager run."""
        kinds = (*(_kind(made, a) for a in args), *(f"{k}={_kind(made, v)}" for k, v in kwargs.items()))
        if self._machine.recorder.is_symbolic:
            results, values = self._record(made, kinds, args, kwargs)
        else:
            results, values = self._run(made, kinds, args, kwargs)
        types = map(_type, results.kinds)
        parts = [make_part(self._machine.recorder, t, v, NO_ORIGINS) for t, v in zip(types, values, strict=True)]
        if made.is_plain:
            parts = [(Array if p.dim() else Scalar)(p) if isinstance(p, torch.Tensor) else p for p in parts]
        return tuple(parts) if results.form == "tuple" else parts[0] if parts else None

    def _record(
        self, made: HostCall, kinds: Kinds, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Results, tuple[Any, ...]]:
        recorder = self._machine.recorder
        if made.results is None and not self.known.is_observed:
            recorder.stop(ExamplesNeeded())
        results = self.known.results(made, kinds)
        self._machine.refuse_if_seen(f"the host call {made.name}")
        operands = tuple(self._operand(a) for a in (*args, *kwargs.values()))
        attributes = (made.name, tuple(kwargs), results.form)
        return results, recorder.host_many(HOST_CALL, operands, tuple(map(_type, results.kinds)), attributes)

    def _run(
        self, made: HostCall, kinds: Kinds, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Results, tuple[Any, ...]]:
        try:
            given, values = made.call(list(map(_plain, args)), {k: _plain(v) for k, v in kwargs.items()})
        except Exception as error:
            self.known.note_failure(made, error)
            raise
        self.known.note(made, kinds, given)
        return given, tuple(map(as_tensor, values))

    def _operand(self, value: Any) -> Operand:
        if isinstance(value, (np.ndarray, np.generic)):
            value = torch.tensor(value)
        if isinstance(value, (Array, torch.Tensor)):
            return self._machine.recorder.value_of(value.tensor if isinstance(value, Array) else value)
        return self._machine.calls.objects.host_list(value) if type(value) is list else operand_of(value)


def _kind(made: HostCall, value: Any) -> str:
    """What an argument is, apart from extents. Raises Unsupported TC164 for what no host call takes."""
    content = value.tensor if isinstance(value, Array) else value
    if isinstance(content, (torch.Tensor, np.ndarray, np.generic)):
        name = dtype_name(content.dtype) if isinstance(content, torch.Tensor) else str(content.dtype)
        if name not in _DTYPES:
            raise _refusal(made, f"a tensor of {name}", "convert it first, to float32 for example")
        if made.is_plain and isinstance(value, torch.Tensor):
            raise _refusal(made, "a tensor", "hand it tensor.numpy(), or call a function that toolchain.host_call made")
        return f"{name}[{content.ndim}]"
    if value is None:
        return "None"
    if isinstance(value, _SCALARS):
        return str(scalar_type(value))
    if isinstance(value, HostList) or type(value) is list:
        if made.is_plain:
            raise _refusal(made, "a list", "call a function that toolchain.host_call made: it gets a list of its own")
        return "list"
    hint = "hand it tensors, numbers, strings, and lists of them"
    raise _refusal(made, f"a {type(value).__name__}", hint)


def _refusal(made: HostCall, what: str, hint: str) -> Unsupported:
    return Unsupported("TC164", f"{what} handed to the host call {made.name}", hint)


def _type(kind: Kind) -> Type:
    return ScalarType(kind.name) if kind.dims is None else TensorType(kind.name, kind.dims)  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    """An argument in an eager run as the function would get it from plain Python."""
    if isinstance(value, Array):
        return value.tensor
    if isinstance(value, Staged):
        return value.operand
    return [_plain(v) for v in value] if type(value) is list else value
