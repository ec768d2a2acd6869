"""Subgraphs recorded from plain functions, and compiled modules run on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import iree.runtime as rt
import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from runtime_py.format import parameter_key
from toolchain.ir import FLOAT, INT, Constant, Location, Subgraph, TensorOp, TensorType, Value
from toolchain.lowering import CompiledModule

HERE = Location("/model/net.py", 7)
Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Case:
    """function: of inputs, then weights. dynamic: compile for unknown sizes, but for the dimensions in ``static``.
    runs: further inputs to try."""

    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    weights: Tensors = ()
    dynamic: bool = False
    runs: tuple[tuple[Any, ...], ...] = ()
    static: tuple[int, ...] = ()


class _Recorder(TorchDispatchMode):
    def __init__(self) -> None:
        self.operations: list[TensorOp] = []
        # Keeps every tensor alive, so that no identity is used twice.
        self.known: dict[int, tuple[Value | Constant, torch.Tensor]] = {}
        self.count = 0

    def value(self, tensor: torch.Tensor, case: Case | None = None) -> Value:
        dynamic = case is not None and case.dynamic
        dims = tuple(None if dynamic and i not in case.static else d for i, d in enumerate(tensor.shape))
        found = Value(self.count, TensorType(str(tensor.dtype).removeprefix("torch."), dims))
        self.count += 1
        self.known[id(tensor)] = (found, tensor)
        return found

    def lookup(self, leaf: Any) -> Any:
        return self.known[id(leaf)][0] if isinstance(leaf, torch.Tensor) else leaf

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        recorded = tree_map(self.lookup, (args, kwargs or {}))
        results = tuple(self.value(t) for t in tree_flatten(out)[0])
        self.operations.append(TensorOp(str(func), recorded[0], tuple(recorded[1].items()), results, HERE))
        return out


def record(name: str, case: Case) -> Subgraph:
    """A subgraph from one run of ``case.function``."""
    recorder = _Recorder()
    parameters = [recorder.value(t, case) for t in case.inputs]
    weights = []
    for number, tensor in enumerate(case.weights):
        constant = Constant(
            f"weight{number}", TensorType(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        )
        recorder.known[id(tensor)] = (constant, tensor)
        weights.append(constant)
    with torch.no_grad(), recorder:
        out = case.function(*case.inputs, *case.weights)
    results = tuple(recorder.lookup(t) for t in tree_flatten(out)[0])
    return Subgraph(name, tuple(parameters), tuple(weights), tuple(recorder.operations), results, HERE)


def tensor(number: int, dtype: str, *dims: int | None) -> Value:
    return Value(number, TensorType(dtype, dims))


def scalar(number: int, kind: str) -> Value:
    return Value(number, {"int": INT, "float": FLOAT}[kind])


def op(target: str, args: tuple[Any, ...], *results: Value, **kwargs: Any) -> TensorOp:
    return TensorOp(f"aten.{target}", args, tuple(kwargs.items()), results, HERE)


def subgraph(parameters: Sequence[Value], operations: Sequence[TensorOp], weights: Sequence[Constant] = ()) -> Subgraph:
    return Subgraph("sub0", tuple(parameters), tuple(weights), tuple(operations), operations[-1].results, HERE)


class Runner:
    """A compiled module in a context of its own."""

    def __init__(self, module: CompiledModule, weights: Tensors = ()) -> None:
        instance = rt.VmInstance()
        self._device = rt.get_device("local-sync")
        modules = [rt.create_hal_module(instance, self._device)]
        if weights:
            index = rt.ParameterIndex()
            for number, weight in enumerate(weights):
                index.add_buffer(parameter_key(number), to_numpy(weight).tobytes())
            modules.insert(0, rt.create_io_parameters_module(instance, index.create_provider(scope="model")))
        vm_module = rt.VmModule.copy_buffer(instance, module.path.read_bytes())
        self._context = rt.VmContext(instance, [*modules, vm_module])
        self._invoke = rt.FunctionInvoker(self._context, self._device, vm_module.lookup_function(module.entry))
        self._keep = modules

    def __call__(self, *args: Any) -> tuple[np.ndarray[Any, Any], ...]:
        out = self._invoke(*(to_numpy(a) if isinstance(a, torch.Tensor) else a for a in args))
        return tuple(np.array(o.to_host()) for o in (out if isinstance(out, (tuple, list)) else (out,)))


def to_numpy(value: torch.Tensor) -> np.ndarray[Any, Any]:
    if value.dtype == torch.bfloat16:
        import ml_dtypes

        return value.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return value.contiguous().numpy()


def assert_equal(actual: np.ndarray[Any, Any], expected: torch.Tensor) -> None:
    """Equal dtype, shape and, within rounding, values; NaN equals NaN."""
    assert actual.shape == tuple(expected.shape)
    wanted = to_numpy(expected)
    if expected.dtype == torch.uint8:
        # IREE's integers have no sign: the host says which they are.
        actual = actual.view(np.uint8)
    assert actual.dtype == wanted.dtype
    tolerance = {torch.float16: 5e-3, torch.bfloat16: 3e-2}.get(expected.dtype, 2e-5)
    if expected.dtype.is_floating_point:
        actual, wanted = actual.astype(np.float64), wanted.astype(np.float64)
        np.testing.assert_allclose(actual, wanted, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(actual, wanted)


def check(case: Case, module: CompiledModule) -> None:
    runner = Runner(module, case.weights)
    for inputs in (case.inputs, *case.runs):
        with torch.no_grad():
            expected = tree_flatten(case.function(*inputs, *case.weights))[0]
        actual = runner(*inputs)
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            assert_equal(a, e)
