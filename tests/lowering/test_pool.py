from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from tests.lowering.support import Case, Runner, op, record, subgraph, tensor
from toolchain.diagnostics import LoweringError, ToolEnvironmentError, UsageError
from toolchain.ir import Subgraph
from toolchain.lowering import CompilationError, Target, compile_subgraphs, parse_target
from toolchain.lowering.export import export
from toolchain.lowering.iree import compile_module, find_compiler
from toolchain.lowering.torch_mlir import import_graph

_CASE = Case(lambda x, w: x @ w, (torch.ones(2, 3),), (torch.eye(3),))


def _named(name: str, case: Case = _CASE) -> Subgraph:
    return dataclasses.replace(record("sub0", case), name=name)


def _unknown(name: str) -> Subgraph:
    x, y = tensor(0, "float32", 2), tensor(1, "float32", 2)
    return dataclasses.replace(subgraph([x], [op("no_such_operation.default", (x,), y)]), name=name)


def _refused(name: str) -> Subgraph:
    x, y = tensor(0, "float32", 4, 4), tensor(1, "float32", 4, 4)
    return dataclasses.replace(
        subgraph([x], [op("linalg_cholesky_ex.default", (x,), y, tensor(2, "int32"))]), name=name
    )


def test_equal_subgraphs_are_compiled_once(cpu: Target, tmp_path: Path) -> None:
    steps: list[tuple[int, int, str]] = []
    graphs = [_named("a"), _named("b")]
    cold = compile_subgraphs(graphs, [cpu], cache_dir=tmp_path, progress=lambda *step: steps.append(step))
    assert (cold.hits, cold.misses) == (0, 1)
    assert steps == [(1, 1, "b for cpu")]
    assert cold.modules["a", "cpu"] == cold.modules["b", "cpu"]
    warm = compile_subgraphs(graphs, [cpu], cache_dir=tmp_path)
    assert (warm.hits, warm.misses) == (1, 0)
    assert warm.modules == cold.modules


def test_one_module_serves_many_weight_sets(cpu: Target, tmp_path: Path) -> None:
    module = compile_subgraphs([_named("a")], [cpu], cache_dir=tmp_path).modules["a", "cpu"]
    assert (module.entry, module.parameters, module.results) == ("main", ("tensor",), ("tensor",))
    assert [str(w) for w in module.weights] == ["tensor<3x3xfloat32>"]
    assert module.features == cpu.features
    for factor in (1.0, 2.0):
        (out,) = Runner(module, (torch.eye(3) * factor,))(torch.ones(2, 3))
        assert out.tolist() == [[factor] * 3] * 2


def test_modules_differ_by_target(cpu: Target, tmp_path: Path) -> None:
    generic = parse_target("cpu:generic")
    compiled = compile_subgraphs([_named("a")], [cpu, generic], jobs=1, cache_dir=tmp_path)
    assert sorted(compiled.modules) == [("a", "cpu"), ("a", "cpu:generic")]
    assert compiled.misses == 2


def test_all_failures_at_once(cpu: Target, tmp_path: Path) -> None:
    with pytest.raises(CompilationError, match="2 subgraphs do not compile") as caught:
        compile_subgraphs([_unknown("one"), _named("fine"), _refused("two")], [cpu], cache_dir=tmp_path)
    first, second = caught.value.failures
    assert first.code == "TC301"
    assert "/model/net.py:7: there is no operation aten.no_such_operation.default" in first.message
    assert second.code in ("TC303", "TC305")
    assert "subgraph two, /model/net.py:7, for cpu" in second.message
    # What compiled is kept.
    assert compile_subgraphs([_named("fine")], [cpu], cache_dir=tmp_path).hits == 1


def test_time_limit(cpu: Target, tmp_path: Path) -> None:
    module = import_graph(export(_named("a")), weights=1, name="m")
    with pytest.raises(LoweringError, match=r"within 0\.001 s") as caught:
        compile_module(module, cpu.compile_flags, tmp_path / "out.vmfb", find_compiler(), time_limit=0.001)
    assert caught.value.code == "TC304"


def test_a_crashing_compiler_is_an_error(cpu: Target, tmp_path: Path) -> None:
    compiler = tmp_path / "iree-compile"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo fake && exit 0\nkill -SEGV $$\n')
    compiler.chmod(0o755)
    with pytest.raises(CompilationError, match="died of signal 11") as caught:
        compile_subgraphs([_named("a")], [cpu], cache_dir=tmp_path / "cache", compiler=compiler)
    assert caught.value.code == "TC305"


def test_missing_compiler(cpu: Target, tmp_path: Path) -> None:
    with pytest.raises(ToolEnvironmentError, match="does not run") as caught:
        compile_subgraphs([], [cpu], cache_dir=tmp_path, compiler=tmp_path / "absent")
    assert caught.value.code == "TC401"


def test_bad_number_of_jobs(cpu: Target, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        compile_subgraphs([], [cpu], jobs=0, cache_dir=tmp_path)
    assert caught.value.code == "TC213"
