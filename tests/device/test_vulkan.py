"""Bundles on a Vulkan device: Mesa's llvmpipe will do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import runtime_py
import toolchain
from runtime_py.device import device_report
from runtime_py.targets import vulkan_features
from toolchain.lowering import parse_target
from toolchain.lowering.gpus import vulkan_features as declared_features


class Halting(nn.Module):
    """A loop over a predicate, rows of unknown number, a normalisation, integer division, and state."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.norm, self.linear = nn.LayerNorm(6), nn.Linear(6, 6)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        few = x[:, 0] < 1
        for _ in range(3):
            if not (x.abs().amax(1) > 0.3).any():
                break
            x = self.linear(self.norm(x)) * 0.3
            self.steps = (self.steps + 1) % 7
        return x[few]


def inputs(rows: int) -> Tensor:
    return torch.linspace(-1, 2, rows * 6).reshape(rows, 6)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("vulkan") / "net.bundle"
    toolchain.build(Halting().eval(), (inputs(4),), targets=("cpu", "vulkan", "cuda"), out=out)
    return out


def test_verified_on_every_edge(bundle: Path, vulkan: str) -> None:
    verdict = toolchain.verify(bundle, Halting().eval(), (inputs(4),), random=3, target=vulkan)
    assert verdict.ok, verdict.differences
    assert verdict.edges_covered == verdict.edges


def test_tensors_without_elements_are_refused(vulkan: str, tmp_path: Path) -> None:
    """A defect of IREE's Vulkan driver (3.13), which leaves no wrong result; once gone, so is the entry in the docs."""
    toolchain.build(positive, [(inputs(3),), (inputs(4),)], targets=("vulkan",), out=tmp_path / "net.bundle")
    session = runtime_py.load(tmp_path / "net.bundle", target=vulkan)
    torch.testing.assert_close(session(inputs(3)), positive(inputs(3)))
    with pytest.raises(runtime_py.DeviceError, match="no tensor may be without elements on Vulkan") as caught:
        session(-inputs(3).abs())
    assert caught.value.code == "RT304"


def positive(x: Tensor) -> Tensor:
    return x[x[:, 0] > 0]


def test_one_archive_for_all_targets(bundle: Path) -> None:
    manifest = runtime_py.load(bundle).manifest
    assert manifest.targets == ("cpu:host", "vulkan:generic", "cuda:sm_80")
    assert [str(path.relative_to(bundle)) for path in bundle.rglob("*.irpa")] == ["params/model.irpa"]
    assert all(set(module.files) == set(manifest.targets) for module in manifest.modules)


def test_features_that_modules_declare_are_those_in_the_manifest(bundle: Path) -> None:
    for module in runtime_py.load(bundle).manifest.modules:
        file = module.files["vulkan:generic"]
        assert file.flags == declared_features((bundle / file.path).read_bytes())
        assert module.files["cuda:sm_80"].flags == ("sm_80",)


def test_float32_needs_no_optional_feature(tmp_path: Path) -> None:
    toolchain.build(nn.GELU().eval(), (torch.ones(3),), targets=("vulkan",), out=tmp_path / "net.bundle")
    (vmfb,) = tmp_path.rglob("*.vmfb")
    # Float64 is 10, Int64 11.
    assert not {10, 11} & capabilities(vmfb.read_bytes())
    assert declared_features(vmfb.read_bytes()) == ()


def capabilities(vmfb: bytes) -> set[int]:
    """All capabilities, by a search of its own for the instruction that declares one."""
    words = memoryview(vmfb[: len(vmfb) // 4 * 4]).cast("I")
    return {words[i + 1] for i in range(len(words) - 1) if words[i] == (2 << 16 | 17)}


def test_the_device_reports_features(vulkan: str) -> None:
    assert {"shaderInt8", "storageBuffer8BitAccess"} <= vulkan_features(device_report("vulkan"))


def test_bfloat16_is_refused(tmp_path: Path) -> None:
    model = nn.ReLU().eval()
    with pytest.raises(toolchain.ToolchainError, match="bfloat16, which target vulkan lacks") as caught:
        toolchain.build(model, (torch.ones(3, dtype=torch.bfloat16),), targets=("vulkan",), out=tmp_path / "x.bundle")
    assert caught.value.code == "TC307"
    assert parse_target("cuda").lacks == frozenset()


def test_without_a_driver(bundle: Path) -> None:
    found = _load_elsewhere(bundle, "vulkan", VK_DRIVER_FILES="/nowhere.json", VK_ICD_FILENAMES="/nowhere.json")
    assert found.startswith("RT302")
    assert "install a Vulkan driver" in found


def test_cuda_without_a_driver(bundle: Path) -> None:
    try:
        device_report("cuda")
    except runtime_py.DeviceError:
        found = _load_elsewhere(bundle, "cuda")
        assert found.startswith("RT302")
        assert "libcuda" in found
    else:
        pytest.skip("this machine has a CUDA driver")


def _load_elsewhere(bundle: Path, target: str, **environment: str) -> str:
    program = (
        "import sys, runtime_py\n"
        "try: runtime_py.load(sys.argv[1], target=sys.argv[2])\n"
        "except runtime_py.DeviceError as error: print(error.code, error)\n"
    )
    command = [sys.executable, "-c", program, str(bundle), target]
    return subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True, text=True).stdout


def parts_of(x: Tensor) -> tuple[int, int, Tensor]:
    nothing = x.sum() * 0
    return int(x[0]), int(x[1]), nothing


def test_every_call_copies_its_own_buffers(vulkan: str, tmp_path: Path) -> None:
    """Elements are copied out of the input by commands that a module records once (see ``_FIXED_BUFFERS``)."""
    toolchain.build(parts_of, (torch.tensor([1, 2]),), targets=("vulkan",), out=tmp_path / "net.bundle")
    with runtime_py.load(tmp_path / "net.bundle", vulkan) as session:
        for numbers in ([4, 2], [0, 1], [3, 9], [6, 0], [5, 7]):
            assert session(torch.tensor(numbers)) == (*numbers, torch.tensor(0))
