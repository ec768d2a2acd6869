"""How every rewriting is tested: both subgraphs run in eager PyTorch, on random data."""

from __future__ import annotations

from dataclasses import replace

import torch

from tests.lowering.support import Case, record
from toolchain.ir import Subgraph, TensorType
from toolchain.ir.interpreter import run_subgraph
from toolchain.lowering.kernels import Rewriting


def random(*dims: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(dims, generator=torch.Generator().manual_seed(seed)).to(dtype)


def check(rewriting: Rewriting, case: Case) -> Subgraph:
    """The subgraph of ``case`` rewritten; it takes, gives and computes the same."""
    old = record("sub0", case)
    new = rewriting(old)
    assert (new.parameters, new.weights) == (old.parameters, old.weights)
    assert [r.type for r in new.results] == [r.type for r in old.results]
    assert len({*new.results} - {*new.parameters}) == len(new.results)
    for inputs in (case.inputs, *case.runs):
        expected, actual = run_subgraph(old, inputs, case.weights), run_subgraph(new, inputs, case.weights)
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)
    if not case.dynamic:
        _check_types(new, case)
    return new


def _check_types(subgraph: Subgraph, case: Case) -> None:
    """Every value is what its type says."""
    values = tuple(value for op in subgraph.operations for value in op.results)
    tensors = run_subgraph(replace(subgraph, results=values), case.inputs, case.weights)
    for value, tensor in zip(values, tensors, strict=True):
        assert value.type == TensorType(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))


def targets(subgraph: Subgraph) -> list[str]:
    """Names of its operations, without the overload."""
    return [op.target.split(".")[1] for op in subgraph.operations]
