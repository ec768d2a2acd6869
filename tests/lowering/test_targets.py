from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from toolchain.diagnostics import ToolEnvironmentError, UsageError
from toolchain.lowering import list_targets, parse_target
from toolchain.lowering.cpus import CPU_FLAGS, KNOWN_FLAGS
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


def test_host_is_the_default() -> None:
    default, host = parse_target("cpu"), parse_target("cpu:host")
    assert (default.canonical, default.cpu, default.kind) == ("cpu:host", "host", "cpu")
    assert default.compile_flags == host.compile_flags
    assert default.identity == host.identity != ""
    assert set(parse_target("cpu:generic").cpu_flags) <= set(default.cpu_flags) <= KNOWN_FLAGS


def test_named_levels() -> None:
    generic, v3 = parse_target("cpu:generic"), parse_target("cpu:x86-64-v3")
    assert generic.cpu == "x86-64"
    assert generic.cpu_flags == ("cmov", "cx8", "fxsr", "mmx", "sse", "sse2")
    assert v3.compile_flags[-1] == "--iree-llvmcpu-target-cpu=x86-64-v3"
    assert {"avx2", "fma", "abm"} <= set(v3.cpu_flags)
    assert v3.identity == ""


@pytest.mark.parametrize(
    "name", ["", "cpu:", "cpu:nonsense", "cpu:cortex-a76", "cpux", "CPU", "gpu:sm_80", "cpu:host:x"]
)
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"cpu:x86-64-v3") as caught:
        parse_target(name)
    assert caught.value.code == "TC211"


def test_every_listed_target_parses() -> None:
    names = [info.name for info in list_targets()]
    assert len(names) == len(set(names)) == 3 + len(CPU_FLAGS)
    assert [parse_target(name).name for name in names] == names


def test_other_machines_have_no_host_target() -> None:
    with pytest.raises(ToolEnvironmentError, match="cpu:x86-64-v3") as caught:
        parse_cpuinfo("processor : 0\nFeatures : fp asimd\n")
    assert caught.value.code == "TC411"


@pytest.mark.slow
def test_flags_are_those_of_the_compiler(tmp_path: Path) -> None:
    source = tmp_path / "add.mlir"
    source.write_text("func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }")
    for cpu in CPU_FLAGS:
        command = [
            find_compiler().path,
            source,
            *parse_target(f"cpu:{cpu}").compile_flags,
            "--compile-to=executable-sources",
        ]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        match = re.search(r'cpu_features = "([^"]*)"', out)
        assert match is not None
        features = {f[1:] for f in match.group(1).split(",") if f.startswith("+")}
        # LLVM takes conditional moves for granted on every 64-bit processor, and lists them for some only.
        flags = {_LINUX_NAMES.get(f, f) for f in features} | {"cmov"}
        assert set(CPU_FLAGS[cpu]) == flags & KNOWN_FLAGS, cpu
