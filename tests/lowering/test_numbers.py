"""Modules that take numbers of the host: some runtimes lose half of one on the way from function to function."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.lowering.support import op, scalar, subgraph, tensor
from toolchain.ir import Subgraph
from toolchain.lowering import Target, torch_mlir
from toolchain.lowering.export import export
from toolchain.lowering.iree import compile_flags, compile_module, find_compiler


def _inner_calls(graph: Subgraph, target: Target, folder: Path) -> list[str]:
    """The functions of the compiled module that others of its functions call."""
    module = torch_mlir.import_graph(export(graph), weights=0, name="numbers")
    assert len(module.locations) == len(module.text.splitlines())
    output = folder / "vm.mlir"
    compile_module(module, (*compile_flags(graph, target), "--compile-to=vm"), output, find_compiler())
    return [name for name in re.findall(r"vm\.call(?:\.variadic)? @([\w.$]+)", output.read_text()) if "." not in name]


def test_numbers_go_to_no_other_function(cpu: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, n, f = tensor(0, "float32", None), scalar(1, "int"), scalar(2, "float")
    y, z = tensor(3, "float32"), tensor(4, "float32")
    graph = subgraph([x, n, f], [op("select.int", (x, 0, n), y), op("mul.Tensor", (y, f), z)])
    assert _inner_calls(graph, cpu, tmp_path) == []
    monkeypatch.setattr(torch_mlir, "_NUMBERS", {})
    assert _inner_calls(graph, cpu, tmp_path) == ["main$async"]
