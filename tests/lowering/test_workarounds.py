"""Every work-around is still needed: without it, a module does not compile or differs from PyTorch.

A test that fails here says that a defect is gone and its work-around can go.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch_mlir.extras.fx_decomp_util import get_decomposition_table

from tests.lowering.hard_values import NAN
from tests.lowering.support import HERE, Case, Runner, check, op, record, scalar, subgraph, tensor
from toolchain.diagnostics import LoweringError
from toolchain.ir import Subgraph, Value
from toolchain.lowering import Target, compile_subgraphs, decompositions, export, iree, parse_target
from toolchain.lowering.iree import find_compiler

aten = torch.ops.aten
_ROW = torch.tensor([[1.0, NAN, 3.0, 2.0], [2.0, 1.0, 2.0, 1.0]])
_VECTOR = torch.tensor([NAN, 1.0, -2.0, torch.inf])
_BYTES = torch.tensor([1, 200, 255], dtype=torch.uint8)

# Operation overloads -> a function that comes out wrong, or not at all, without our replacement of them.
_NEEDED: dict[str, tuple[tuple[Any, ...], Case]] = {
    "argmax": ((aten.argmax.default,), Case(lambda x: x.argmax(1), (_ROW,))),
    "argmin": ((aten.argmin.default,), Case(lambda x: x.argmin(1), (_ROW,))),
    "max_dim": ((aten.max.dim,), Case(lambda x: x.max(1)[1], (_ROW,))),
    "min_dim": ((aten.min.dim,), Case(lambda x: x.min(1)[1], (_ROW,))),
    "maximum": ((aten.maximum.default,), Case(lambda x: torch.maximum(x, x.flip(0)), (_VECTOR,))),
    "minimum": ((aten.minimum.default,), Case(lambda x: torch.minimum(x, x.flip(0)), (_VECTOR,))),
    "clamp": ((aten.clamp.default,), Case(lambda x: x.clamp(-1, 1), (_VECTOR,))),
    "hardtanh": ((aten.hardtanh.default,), Case(F.hardtanh, (_VECTOR,))),
    "eq": ((aten.eq.Tensor,), Case(lambda x: x == x, (_VECTOR,))),
    "fmod": ((aten.fmod.Tensor,), Case(lambda x: torch.fmod(torch.ones(4), x), (_VECTOR,))),
    "sort": ((aten.sort.default, aten.sort.stable), Case(lambda x: tuple(x.sort(1)), (_ROW,))),
    "topk": ((aten.topk.default,), Case(lambda x: x.topk(2)[0], (_ROW,))),
    "mask": ((aten.index.Tensor,), Case(lambda x: x[x > 0], (_ROW,))),
    "masked_select": ((aten.masked_select.default,), Case(lambda x: torch.masked_select(x, x > 0), (_ROW,))),
    "cat": ((aten.cat.default,), Case(lambda x: torch.cat([x, x]), (torch.zeros(0, 3),))),
    "cdist": ((aten._cdist_forward.default,), Case(torch.cdist, (torch.zeros(2, 3), torch.ones(2, 3)))),
    "roll": ((aten.roll.default,), Case(lambda x: x.roll(1, 0), (_ROW,), (), True)),
    "gelu_tanh": ((aten.gelu.default,), Case(lambda x: F.gelu(x, approximate="tanh"), (torch.linspace(-2, 2, 9),))),
}


@pytest.fixture
def limited_compiler(tmp_path: Path) -> Path:
    """iree-compile with 2 GB of address space: the defect of boolean masks takes all memory there is."""
    script = tmp_path / "iree-compile"
    script.write_text(f'#!/bin/sh\nulimit -v 2000000\nexec "{find_compiler().path}" "$@"\n')
    script.chmod(0o755)
    return script


def _is_right(graph: Subgraph, case: Case, cpu: Target, tmp_path: Path, compiler: Path) -> bool:
    try:
        compiled = compile_subgraphs([graph], [cpu], cache_dir=tmp_path / "cache", compiler=compiler)
        check(case, compiled.modules["sub0", "cpu"])
    except (LoweringError, AssertionError):
        return False
    return not compiled.unfused  # what only compiles in the second attempt needs its replacement


@pytest.mark.slow
@pytest.mark.parametrize("name", _NEEDED)
def test_replacement_is_needed(
    name: str, cpu: Target, tmp_path: Path, limited_compiler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overloads, case = _NEEDED[name]
    graph = record("sub0", case)
    assert _is_right(graph, case, cpu, tmp_path / "with", limited_compiler)
    table = {key: value for key, value in decompositions.decomposition_table().items() if key not in overloads}
    table |= {key: value for key, value in get_decomposition_table().items() if key in overloads}
    monkeypatch.setattr(export, "decomposition_table", lambda: table)
    assert not _is_right(graph, case, cpu, tmp_path / "without", limited_compiler)


@pytest.mark.slow
@pytest.mark.parametrize("function", [lambda u: u == 200, lambda u: u // 3, lambda u: u.max()])
def test_arithmetic_on_bytes_must_be_wider(
    function: Any, cpu: Target, tmp_path: Path, limited_compiler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(function, (_BYTES,))
    monkeypatch.setattr(export, "_NARROW", ())
    assert not _is_right(record("sub0", case), case, cpu, tmp_path, limited_compiler)


@pytest.mark.slow
def test_refused_module_compiles_without_fusion(cpu: Target, tmp_path: Path, limited_compiler: Path) -> None:
    """A sum of what is also returned, filled up to an unknown extent."""
    n, x, y, low, any_ = scalar(0, "int"), *(tensor(i, "float32", 1, None) for i in (1, 2)), *_predicates()
    operations = [
        op("zeros.default", ([1, n],), x),
        op("zeros_like.default", (x,), y),
        op("lt.Scalar", (x, 0.9), low[0]),
        op("lt.Scalar", (y, 8), low[1]),
        op("bitwise_and.Tensor", low[:2], low[2]),
        op("any.default", (low[2],), any_),
    ]
    graph = Subgraph("sub0", (n,), (), tuple(operations), (x, y, any_), HERE)
    labels: list[str] = []
    compiled = compile_subgraphs(
        [graph], [cpu], cache_dir=tmp_path, compiler=limited_compiler, progress=lambda *at: labels.append(at[2])
    )
    assert compiled.unfused == ("sub0 for cpu",)
    assert labels == ["sub0 for cpu, unfused"]
    results = Runner(compiled.modules["sub0", "cpu"])(3)
    assert [r.tolist() for r in results] == [[[0.0] * 3], [[0.0] * 3], True]


@pytest.mark.slow
def test_strides_of_unknown_extents_must_go(cpu: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n, m, x = scalar(0, "int"), scalar(1, "int"), tensor(2, "float32", None, None)
    graph = subgraph([n, m], [op("ones.default", ([n, m],), x)])
    compiled = compile_subgraphs([graph], [cpu], cache_dir=tmp_path / "with")
    assert Runner(compiled.modules["sub0", "cpu"])(2, 1)[0].tolist() == [[1.0], [1.0]]
    monkeypatch.setattr(export, "_forget_strides", lambda graph: None)
    with pytest.raises(LoweringError, match="sym_max"):
        compile_subgraphs([graph], [cpu], cache_dir=tmp_path / "without")


def _predicates() -> tuple[tuple[Value, ...], Value]:
    return tuple(tensor(i, "bool", 1, None) for i in (3, 4, 5)), tensor(6, "bool")


@pytest.mark.slow
def test_doubles_must_not_be_demoted(
    cpu: Target, tmp_path: Path, limited_compiler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, f, y = tensor(0, "float64", 2), scalar(1, "float"), tensor(2, "float64", 2)
    graph = subgraph([x, f], [op("mul.Tensor", (x, f), y)])
    monkeypatch.setattr(iree, "COMMON_FLAGS", ("--iree-input-type=torch",))
    module = compile_subgraphs([graph], [cpu], cache_dir=tmp_path, compiler=limited_compiler).modules["sub0", "cpu"]
    with pytest.raises(ValueError, match=r"expected f32 .* but have f64"):
        Runner(module)(torch.ones(2, dtype=torch.float64), 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["subnormal", "sin", "atan2", "pow"])
def test_limitations_still_hold(name: str, cpu: Target, tmp_path: Path, limited_compiler: Path) -> None:
    """What ``LIMITATIONS`` lists."""
    limits = {
        "subnormal": Case(lambda x: x + x, (torch.tensor([1e-40]),)),
        "sin": Case(torch.sin, (torch.tensor([3e38]),)),
        "pow": Case(torch.pow, (torch.tensor([0.0]), torch.tensor([0.0]))),
        "atan2": Case(torch.atan2, (torch.tensor([torch.inf]), torch.tensor([-torch.inf]))),
    }
    case = limits[name]
    if name == "subnormal":
        graph = record("sub0", case)
        module = compile_subgraphs([graph], [cpu], cache_dir=tmp_path, compiler=limited_compiler).modules["sub0", "cpu"]
        assert Runner(module)(torch.tensor([1e-40]))[0].tolist() == [0.0]
    else:
        assert not _is_right(record("sub0", case), case, cpu, tmp_path, limited_compiler)


def test_two_nonzeros_in_one_module_are_wrong() -> None:
    """Why the partition gives every ``nonzero`` a call of its own (``toolchain.passes.levels.ONE_PER_CALL``)."""
    row = torch.tensor([-0.5, 0.0, 0.25, -4.0, 8.0])
    case = Case(lambda x: (torch.nonzero(~(x > 0)), torch.nonzero(x > 0)), (row,), (), True)
    target = parse_target("cpu")
    compiled = compile_subgraphs([record("two_nonzeros", case)], [target])
    with pytest.raises(AssertionError):
        check(case, compiled.modules["two_nonzeros", target.name])
