"""Small bundles with hand-written modules and host programs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import iree.compiler
import torch

from runtime_py.format import Versions, parameter_key
from toolchain.bundle import write_bundle
from toolchain.ir import (
    INT,
    Block,
    Branch,
    Call,
    Constant,
    Edge,
    EntryPoint,
    Function,
    HostOp,
    InputDim,
    InputLeaf,
    Jump,
    Leaf,
    Location,
    Program,
    Return,
    State,
    StateSlot,
    Structure,
    Subgraph,
    TensorType,
    Type,
    Value,
)
from toolchain.ir import Mapping as MappingNode
from toolchain.ir import Sequence as SequenceNode
from toolchain.lowering import Compilation, CompiledModule, Target, parse_target

VERSIONS = Versions("0", "0", "0", "3.13.0")
F4 = TensorType("float32", (4,))
PREDICATE = TensorType("bool", ())

STEP = f"""
module @step {{
  util.global private @w0 = #flow.parameter.named<"model"::"{parameter_key(0)}"> : tensor<4xf32>
  func.func @main(%x: tensor<4xf32>, %n: i64) -> (tensor<4xf32>, tensor<i1>) {{
    %w = util.global.load @w0 : tensor<4xf32>
    %t = tensor.from_elements %n : tensor<i64>
    %f = arith.sitofp %t : tensor<i64> to tensor<f32>
    %empty = tensor.empty() : tensor<4xf32>
    %add = linalg.broadcast ins(%f : tensor<f32>) outs(%empty : tensor<4xf32>) dimensions = [0]
    %scaled = arith.mulf %x, %w : tensor<4xf32>
    %y = arith.addf %scaled, %add : tensor<4xf32>
    %first = tensor.extract_slice %y[0] [1] [1] : tensor<4xf32> to tensor<f32>
    %limit = arith.constant dense<3.0> : tensor<f32>
    %p = arith.cmpf ogt, %first, %limit : tensor<f32>
    return %y, %p : tensor<4xf32>, tensor<i1>
  }}
}}
"""
ADD = """
module @add {
  func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.addf %a, %b : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
"""

# y = x * a + count; if y[0] > 3: y = y * b + count; total += y; count += 1
GATE_HOST = """
from runtime_py import hostops as ops


def gate(rt, count, total, x):
    y, p = rt.calls[0](x, count)
    if rt.decide(0, ops.item(p)):
        y, _ = rt.calls[1](y, count)
    total = rt.calls[2](total, y)
    count = ops.add(count, 1)
    rt.commit(0, (count, total), ())
    return {"out": y, "count": count}


FUNCTIONS = {(0, 0): gate}
"""


@dataclass(frozen=True)
class Recorded:
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any = None
    exception: tuple[str, str] | None = None
    printed: str = ""
    after: tuple[tuple[Any, ...], dict[str, Any]] | None = None


def compile_mlir(text: str, folder: Path, name: str, target: Target | None = None) -> CompiledModule:
    target = target or parse_target("cpu")
    data = iree.compiler.compile_str(text, extra_args=[*target.compile_flags, "--iree-input-demote-f64-to-f32=false"])
    path = folder / f"{name}.vmfb"
    path.write_bytes(data)
    return CompiledModule(path, len(data), hashlib.sha256(data).hexdigest(), name, "main", (), (), (), target.features)


def described(module: CompiledModule, parameters: Sequence[str], results: Sequence[str]) -> CompiledModule:
    from dataclasses import replace

    return replace(module, parameters=tuple(parameters), results=tuple(results))  # type: ignore[arg-type]


def compiled(modules: Mapping[str, CompiledModule], target: str = "cpu") -> Compilation:
    return Compilation(MappingProxyType({(name, target): m for name, m in modules.items()}), 0, len(modules))


def signature(*args: Structure, **kwargs: Structure) -> Structure:
    keywords = MappingNode(tuple(kwargs), tuple(kwargs.values()))
    return SequenceNode("tuple", (SequenceNode("tuple", args), keywords))


def tensor(name: str, dtype: str, *dims: int | tuple[int, int | None] | None) -> InputLeaf:
    def extent(dim: int | tuple[int, int | None] | None) -> InputDim:
        return InputDim(None, *dim) if isinstance(dim, tuple) else InputDim(dim)

    shape = tuple(d if isinstance(d, int) else None for d in dims)
    return InputLeaf(name, TensorType(dtype, shape), tuple(map(extent, dims)))


def scalar(name: str, kind: Type = INT) -> InputLeaf:
    return InputLeaf(name, kind, None)


def entry(tree: Structure, *inputs: InputLeaf, name: str = "entry") -> EntryPoint:
    return EntryPoint(name, tree, inputs)


def leaf(number: int = 0) -> Leaf:
    return Leaf(Value(number, F4))


def plain_program(*entries: EntryPoint, **fields: Any) -> Program:
    """A program whose functions do nothing that the manifest would show."""
    states = fields.pop("states", (State(),))
    block = Block(0, (), (), Return(Leaf(None)))
    functions = tuple(Function(f"f{e}_{s}", e, s, (block,)) for e in range(len(entries)) for s in range(len(states)))
    defaults = {"initial_state": (), "functions": functions, "constants": {}}
    return Program(name="plain", entries=entries, states=states, **defaults | fields)


def gate_program() -> Program:
    x, count, total = Value(0, F4, "x"), Value(1, INT, "count"), Value(2, F4, "total")
    y, p, flag = Value(3, F4), Value(4, PREDICATE), Value(5, PREDICATE)
    again, other, joined, new_total, new_count = (
        *(Value(6, F4), Value(7, PREDICATE), Value(8, F4), Value(9, F4), Value(10, INT)),
    )
    at = Location("/home/user/gate.py", 7, 0, "forward")
    a, b = Constant("a.weight", F4), Constant("b.weight", F4)
    blocks = (
        Block(
            0,
            (count, total, x),
            (Call("step", (x, count), (a.name,), (y, p)), HostOp("item", (p,), (flag,))),
            Branch(flag, Edge(1), Edge(2, (y,)), location=at),
        ),
        Block(1, (), (Call("step", (y, count), (b.name,), (again, other)),), Jump(Edge(2, (again,)))),
        Block(
            2,
            (joined,),
            (Call("add", (total, joined), (), (new_total,)), HostOp("add", (count, 1), (new_count,))),
            Return(MappingNode(("out", "count"), (Leaf(joined), Leaf(new_count))), state=(new_count, new_total)),
        ),
    )
    n = Value(20, INT)
    subgraphs = {
        "step": Subgraph("step", (x, n), (Constant("w", F4),), (), (Value(21, F4), Value(22, PREDICATE))),
        "add": Subgraph("add", (Value(23, F4), Value(24, F4)), (), (), (Value(25, F4),)),
    }
    constants = {
        "a.weight": torch.full((4,), 2.0),
        "b.weight": torch.full((4,), 10.0),
        "b.tied": torch.full((4,), 10.0),
        "total": torch.zeros(4),
        "unused": torch.ones(1000),
    }
    return Program(
        name="gate",
        entries=(entry(signature(Leaf(x)), tensor("x", "float32", 4), name="gate"),),
        states=(State((StateSlot("count", INT), StateSlot("total", F4)), (("mode", "fast"),)),),
        initial_state=(0, Constant("total", F4)),
        functions=(Function("gate", 0, 0, blocks),),
        constants=constants,
        subgraphs=subgraphs,
    )


def write_plain(
    out: Path,
    host: str,
    *entries: EntryPoint,
    modules: Mapping[str, CompiledModule] | None = None,
    tests: Sequence[Sequence[Recorded]] = (),
    **fields: Any,
) -> Path:
    return write_bundle(
        plain_program(*entries, **fields),
        compiled(modules or {}),
        [parse_target("cpu")],
        {"host/python/program.py": host.encode()},
        tests,
        out,
        VERSIONS,
    )
