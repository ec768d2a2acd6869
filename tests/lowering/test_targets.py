from __future__ import annotations

import re
import subprocess

import pytest

from toolchain.diagnostics import ToolEnvironmentError, UsageError
from toolchain.lowering import list_targets, parse_target
from toolchain.lowering.cpus import AARCH64_FLAGS, CPU_FLAGS, KNOWN_FLAGS
from toolchain.lowering.gpus import CUDA_ARCHITECTURES, VULKAN_DEVICES
from toolchain.lowering.iree import find_compiler
from toolchain.lowering.targets import parse_cpuinfo

# LLVM's names of features where /proc/cpuinfo has another one.
_LINUX_NAMES = {
    "sse3": "pni",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "sahf": "lahf_lm",
    "lzcnt": "abm",
    "bmi": "bmi1",
    "avxvnni": "avx_vnni",
    **{f"avx512{x}": f"avx512_{x}" for x in ("vnni", "bf16", "fp16", "bitalg", "vbmi2", "vpopcntdq", "vp2intersect")},
}

_LINUX_ARM_NAMES = {
    "aes": ("aes", "pmull"),
    "crc": ("crc32",),
    "dotprod": ("asimddp",),
    "fp-armv8": ("fp",),
    "fullfp16": ("fphp", "asimdhp"),
    "lse": ("atomics",),
    "neon": ("asimd",),
    "rcpc": ("lrcpc",),
    "rdm": ("asimdrdm",),
    "sha2": ("sha1", "sha2"),
}


def test_host_is_the_default() -> None:
    default, host = parse_target("cpu"), parse_target("cpu:host")
    assert (default.canonical, default.kind) == ("cpu:host", "cpu")
    assert default.compile_flags == host.compile_flags
    assert default.identity == host.identity != ""
    assert set(parse_target("cpu:generic").features) <= set(default.features) <= KNOWN_FLAGS


def test_named_levels() -> None:
    generic, v3 = parse_target("cpu:generic"), parse_target("cpu:x86-64-v3")
    assert generic.compile_flags[-1] == "--iree-llvmcpu-target-cpu=x86-64"
    assert generic.features == ("cmov", "cx8", "fxsr", "mmx", "sse", "sse2")
    assert v3.compile_flags[-1] == "--iree-llvmcpu-target-cpu=x86-64-v3"
    assert {"avx2", "fma", "abm"} <= set(v3.features)
    assert v3.identity == ""


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("", ""),
        ("cpu:", "cpu"),
        ("cpu:cortex-a76", "cpu:aarch64:cortex-a76"),
        ("CPU", ""),
        ("gpu:sm_80", "cuda:sm_80"),
        ("cpu:host:x", "cpu:host"),
        ("cpu:x86-64-v5", "cpu:x86-64-v4"),
        ("cpu:aarch64:", "cpu:aarch64"),
        ("cuda:orin", "cuda:sm_87"),
        ("cuda:sm_90", "cuda:sm_80"),
        ("cuda:rtx4090", ""),
        ("vulkan:llvmpipe", ""),
        ("vulkan:mali-g77", "vulkan:valhall1"),
        ("vulcan", "vulkan"),
    ],
)
def test_unknown_names_are_refused(name: str, near: str) -> None:
    with pytest.raises(UsageError, match=r"`toolchain targets` lists them all") as caught:
        parse_target(name)
    assert caught.value.code == "TC211"
    assert near in caught.value.hint


def test_names_in_short() -> None:
    assert parse_target("cuda").canonical == "cuda:sm_80"
    assert parse_target("vulkan").canonical == "vulkan:generic"
    assert parse_target("cuda:sm_87").features == ("sm_87",)


def test_arm_features_are_no_x86_ones() -> None:
    orin = parse_target("cpu:aarch64:cortex-a78ae")
    assert orin.canonical == "cpu:aarch64:cortex-a78ae"
    assert {"asimd", "asimddp"} <= set(orin.features)
    assert not set(orin.features) & set(parse_target("cpu").features) - {"aes"}


def test_every_listed_target_parses() -> None:
    names = [info.name for info in list_targets()]
    assert (
        len(names)
        == len(set(names))
        == 3 + len(CPU_FLAGS) + 1 + len(AARCH64_FLAGS) + 1 + len(CUDA_ARCHITECTURES) + 1 + len(VULKAN_DEVICES)
    )
    assert [parse_target(name).name for name in names] == names


def test_other_machines_have_no_host_target() -> None:
    with pytest.raises(ToolEnvironmentError, match="cpu:x86-64-v3") as caught:
        parse_cpuinfo("processor : 0\nFeatures : fp asimd\n")
    assert caught.value.code == "TC411"


@pytest.mark.slow
def test_flags_are_those_of_the_compiler() -> None:
    for cpu in CPU_FLAGS:
        # LLVM takes conditional moves for granted on every 64-bit processor, and lists them for some only.
        flags = {_LINUX_NAMES.get(f, f) for f in features_of(f"cpu:{cpu}")} | {"cmov"}
        assert set(CPU_FLAGS[cpu]) == flags & KNOWN_FLAGS, cpu


@pytest.mark.slow
def test_arm_flags_are_those_of_the_compiler() -> None:
    for core in AARCH64_FLAGS:
        found = features_of(f"cpu:aarch64:{core}")
        flags = {linux for name in found for linux in _LINUX_ARM_NAMES.get(name, ())}
        assert set(AARCH64_FLAGS[core]) == flags, core


def features_of(target: str) -> set[str]:
    match = re.search(r'cpu_features = "([^"]*)"', compiled(target, "--compile-to=executable-sources"))
    assert match is not None
    return {f[1:] for f in match.group(1).split(",") if f.startswith("+")}


@pytest.mark.slow
@pytest.mark.parametrize("name", [i.name for i in list_targets() if i.name.startswith(("cuda:", "vulkan:"))])
def test_the_compiler_knows_the_gpu(name: str) -> None:
    assert compiled(name, "-o", "/dev/null") == ""


def compiled(target: str, *more: str) -> str:
    """What iree-compile prints for a sum of rows."""
    command = [find_compiler().path, "-", *parse_target(target).compile_flags, *more]
    return subprocess.run(command, input=_SUM, check=True, capture_output=True, text=True).stdout


_SUM = """
func.func @f(%x: tensor<3x300xf32>) -> tensor<3xf32> {
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<3x300xf32>) outs(%zero : tensor<3xf32>) dimensions = [1]
  return %sum : tensor<3xf32>
}
"""
