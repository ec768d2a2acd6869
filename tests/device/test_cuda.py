"""Modules for CUDA: assembled without a GPU, run with one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import toolchain
from tests.device.assemble import assemble_all, assemble_sample
from tests.device.test_vulkan import Halting, inputs
from toolchain.lowering.ptx import assemble, find_ptxas


@pytest.fixture(scope="session")
def ptxas() -> Path:
    try:
        return find_ptxas()
    except toolchain.ToolchainError as error:
        pytest.skip(error.message)


def test_unknown_sizes_assemble(ptxas: Path, tmp_path: Path) -> None:
    targets = ("cuda:sm_80", "cuda:sm_87")
    examples = [(inputs(3),), (inputs(5),)]
    toolchain.build(Halting().eval(), examples, targets=targets, out=tmp_path / "net.bundle")
    assert assemble_all(tmp_path / "net.bundle/modules/cuda-sm_80", ptxas) > 0
    assert assemble_all(tmp_path / "net.bundle/modules/cuda-sm_87", ptxas, ("sm_87", "sm_90")) > 0


@pytest.mark.slow
@pytest.mark.parametrize("sample", ["branchynet", "gpt_kv_cache", "nms"])
def test_samples_assemble(sample: str, ptxas: Path) -> None:
    assert assemble_sample(sample, ptxas) > 0


def test_nonsense_does_not_assemble(ptxas: Path) -> None:
    with pytest.raises(toolchain.ToolchainError) as caught:
        assemble(".version 7.6\n.target sm_80\nnonsense", "sm_80", ptxas)
    assert caught.value.code == "TC308"


@pytest.mark.gpu
def test_verified_on_every_edge(cuda: str, tmp_path: Path) -> None:
    examples = [(inputs(3),), (inputs(5),)]
    torch.manual_seed(0)
    toolchain.build(Halting().eval(), examples, targets=("cuda",), out=tmp_path / "net.bundle")
    verdict = toolchain.verify(tmp_path / "net.bundle", Halting().eval(), examples, random=20, target=cuda)
    assert verdict.ok, verdict.differences
    assert verdict.edges_covered == verdict.edges
