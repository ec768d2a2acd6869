"""Which CPU level is taken."""

from __future__ import annotations

import pytest

from runtime_py import DeviceError
from runtime_py.format import FORMAT_VERSION, Manifest, Module, ModuleFile, Versions
from runtime_py.targets import choose_target, cpu_flags, cuda_architectures, device_kind, vulkan_features

LEVELS = {
    "cpu:generic": (),
    "cpu:x86-64-v3": ("avx2", "fma"),
    "cpu:host": ("avx2", "avx512f", "fma"),
    "cuda:sm_80": ("sm_80",),
}
LEVELS |= {"cuda:sm_87": ("sm_87",), "vulkan:generic": ("shaderInt8",)}
CUDA_REPORT = "- gpu-compute-unit-count: 8\n- gpu-compute-capability: {}\n- gpu-arch-name: sm_x\n"
VULKAN_REPORT = "features: storageBuffer8BitAccess=yes shaderInt8=yes shaderFloat16=no\nsparse: binding=no\n"


def manifest(*targets: str) -> Manifest:
    files = {t: ModuleFile(f"modules/{i}", 0, "", LEVELS[t]) for i, t in enumerate(targets)}
    module = Module("m", "main", (), (), (), files)
    return Manifest(
        FORMAT_VERSION, "", "m", Versions("", "", "", ""), targets, (), (), (), (module,), (), None, (), (), (), ()
    )


@pytest.mark.parametrize(
    ("wanted", "flags", "expected"),
    [
        ("cpu", {"avx2", "fma", "sse2"}, "cpu:x86-64-v3"),
        ("cpu", {"avx2", "fma", "avx512f"}, "cpu:host"),
        ("cpu", set(), "cpu:generic"),
        (None, {"avx2"}, "cpu:generic"),
        ("cpu:generic", {"avx2", "fma"}, "cpu:generic"),
        ("cuda", cuda_architectures(CUDA_REPORT.format("8.6")), "cuda:sm_80"),
        ("cuda", cuda_architectures(CUDA_REPORT.format("8.7")), "cuda:sm_87"),
        ("cuda", cuda_architectures(CUDA_REPORT.format("12.0")), "cuda:sm_87"),
        ("cuda:sm_80", cuda_architectures(CUDA_REPORT.format("9.0")), "cuda:sm_80"),
        ("vulkan", vulkan_features(VULKAN_REPORT), "vulkan:generic"),
    ],
)
def test_the_best_level_that_runs(wanted: str | None, flags: set[str], expected: str) -> None:
    assert choose_target(manifest(*LEVELS), wanted, frozenset(flags)) == expected


@pytest.mark.parametrize(
    ("wanted", "text"),
    [("cpu", "cpu:host needs avx512f"), ("vulkan", "no target 'vulkan'"), ("cpu:generic", "no target")],
)
def test_no_usable_target(wanted: str, text: str) -> None:
    with pytest.raises(DeviceError, match=text) as caught:
        choose_target(manifest("cpu:host"), wanted, frozenset({"avx2", "fma"}))
    assert caught.value.code == "RT301"


def test_a_gpu_that_is_too_old() -> None:
    with pytest.raises(DeviceError, match="cuda:sm_87 needs sm_87"):
        choose_target(manifest("cuda:sm_87"), "cuda", cuda_architectures(CUDA_REPORT.format("8.6")))
    with pytest.raises(DeviceError, match="vulkan:generic needs shaderInt8"):
        choose_target(manifest("vulkan:generic"), None, vulkan_features(VULKAN_REPORT.replace("=yes", "=no")))
    assert cuda_architectures("name: something else") == frozenset()


def test_flags_of_both_architectures() -> None:
    assert cpu_flags("processor : 0\nflags\t\t: fpu avx2\n\nflags : other\n") == {"fpu", "avx2"}
    assert cpu_flags("Features\t: fp asimd\n") == {"fp", "asimd"}
    assert cpu_flags("nothing\n") == frozenset()


def test_unknown_kind_of_device() -> None:
    with pytest.raises(DeviceError):
        device_kind("npu:1")
