"""Every dtype and the awkward shapes, through a compiled module and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import torch

import runtime_py
from runtime_py.device import current_device
from runtime_py.dtypes import DTYPES, to_bits
from tests.runtime.support import VERSIONS, compile_mlir, compiled, described, entry, leaf, signature, tensor
from tests.runtime.support import plain_program as program
from toolchain.bundle import write_bundle
from toolchain.ir import Block, Call, Function, Return, Subgraph, TensorType, Value
from toolchain.ir import Leaf as LeafNode
from toolchain.ir import Sequence as SequenceNode
from toolchain.lowering import parse_target

MLIR_TYPES = {
    "bool": "i1",
    "uint8": "i8",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}
# bool: x xor x; the others: x + x, so that every element passes through compiled code.
OPERATIONS = {"i": "addi", "f": "addf", "b": "addf"}


def _module(names: list[str], shape: str) -> str:
    types = [f"tensor<{shape}{MLIR_TYPES[n]}>" for n in names]
    arguments = ", ".join(f"%x{i}: {t}" for i, t in enumerate(types))
    lines = [
        f"%y{i} = arith.{'xori' if t.endswith('i1>') else OPERATIONS[MLIR_TYPES[n][0]]} %x{i}, %x{i} : {t}"
        for i, (n, t) in enumerate(zip(names, types, strict=True))
    ]
    results = ", ".join(f"%y{i}" for i in range(len(names)))
    listed = ", ".join(types)
    header = f"@main({arguments}) -> ({listed})"
    body = "\n".join([*lines, f"return {results} : {listed}"])
    return f"module @kinds {{\nfunc.func {header} {{\n{body}\n}}\n}}\n"


def _bundle(folder: Path, shape: str, *dims: int | None) -> Path:
    names = list(MLIR_TYPES)
    kinds = [TensorType(n, dims) for n in names]
    parameters = tuple(Value(i, k) for i, k in enumerate(kinds))
    results = tuple(Value(100 + i, k) for i, k in enumerate(kinds))
    call = Call("kinds", parameters, (), results)
    block = Block(0, parameters, (call,), Return(SequenceNode("tuple", tuple(map(LeafNode, results)))))
    ways = ["tensor"] * len(names)
    module = described(compile_mlir(_module(names, shape), folder, "kinds", parse_target("cpu:generic")), ways, ways)
    inputs = [tensor(n, n, *dims) for n in names]
    host = "FUNCTIONS = {(0, 0): lambda rt, *xs: rt.calls[0](*xs)}\n"
    return write_bundle(
        program(
            entry(signature(*map(leaf, range(len(names)))), *inputs),
            functions=(Function("f", 0, 0, (block,)),),
            subgraphs={"kinds": Subgraph("kinds", parameters, (), (), results)},
        ),
        compiled({"kinds": module}, "cpu:generic"),
        [parse_target("cpu:generic")],
        {"host/python/program.py": host.encode()},
        (),
        folder / "kinds.bundle",
        VERSIONS,
    )


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> runtime_py.Session:
    return runtime_py.load(_bundle(tmp_path_factory.mktemp("vectors"), "?x", None))


@pytest.fixture(scope="module")
def scalars(tmp_path_factory: pytest.TempPathFactory) -> runtime_py.Session:
    return runtime_py.load(_bundle(tmp_path_factory.mktemp("scalars"), ""))


def _torch_inputs(values: list[int] | int) -> list[torch.Tensor]:
    return [torch.tensor(values).to(getattr(torch, name)) for name in MLIR_TYPES]


def _numpy_inputs(values: list[int] | int) -> list[np.ndarray]:
    dtypes = [ml_dtypes.bfloat16 if n == "bfloat16" else n for n in MLIR_TYPES]
    return [np.array(values).astype(d) for d in dtypes]


@pytest.mark.parametrize("values", [[1, 0, 3], [], list(range(100))], ids=["three", "empty", "hundred"])
@pytest.mark.parametrize("make", [_torch_inputs, _numpy_inputs], ids=["torch", "numpy"])
def test_vectors(vectors: runtime_py.Session, make: Callable[[list[int]], list[object]], values: list[int]) -> None:
    inputs = make(values)
    for x, y in zip(inputs, vectors(*inputs), strict=True):
        assert type(y) is type(x)
        assert y.dtype == x.dtype  # type: ignore[attr-defined]
        expected = (x ^ x if "bool" in str(x.dtype) else x + x).tolist()  # type: ignore[attr-defined, operator]
        assert y.tolist() == expected


@pytest.mark.parametrize("make", [_torch_inputs, _numpy_inputs], ids=["torch", "numpy"])
def test_scalars(scalars: runtime_py.Session, make: Callable[[int], list[object]]) -> None:
    inputs = make(1)
    for x, y in zip(inputs, scalars(*inputs), strict=True):
        assert y.dtype == x.dtype  # type: ignore[attr-defined]
        assert tuple(y.shape) == ()
        assert y.tolist() == (False if "bool" in str(x.dtype) else 2)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", list(DTYPES))
def test_read_back(name: str) -> None:
    view = current_device().upload(to_bits([1, 0], name), DTYPES[name])
    assert np.array_equal(current_device().array(view), to_bits([1, 0], name))


def test_bfloat16_rounds_as_pytorch() -> None:
    values = torch.tensor([0.1, 1 / 3, 65504.0, 3.4e38, -0.0, float("inf"), float("nan"), 1.00390625, 1.01171875])
    rounded = torch.from_numpy(to_bits(values.tolist(), "bfloat16").view(np.int16)).view(torch.bfloat16)
    assert torch.equal(rounded.isnan(), values.isnan())
    assert torch.equal(rounded.nan_to_num(), values.bfloat16().nan_to_num())
