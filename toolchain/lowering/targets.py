"""Names of targets -> what the compiler is told and what the machine must have.

A new kind of device is one more entry of ``_KINDS``.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from toolchain.diagnostics import ToolEnvironmentError, UsageError
from toolchain.lowering.cpus import AARCH64_BASE, AARCH64_FLAGS, CPU_FLAGS, KNOWN_FLAGS
from toolchain.lowering.gpus import (
    CUDA_ARCHITECTURES,
    CUDA_DEFAULT,
    VULKAN_DEFAULT,
    VULKAN_DEVICES,
    cuda_flags,
    vulkan_flags,
)

TargetKind = Literal["cpu", "cuda", "vulkan"]


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of machine that modules are compiled for.

    name:          as the user wrote it: ``"cpu"``.
    canonical:     the full name: ``"cpu:host"``.
    kind:          decides the runtime's driver.
    features:      what a machine must have to run any module; see ``runtime_py.format.ModuleFile``.
    compile_flags: for iree-compile.
    lacks:         dtypes that no module for it may use.
    identity:      tells apart what one name means on different machines; part of the cache key.
    """

    name: str
    canonical: str
    kind: TargetKind
    features: tuple[str, ...]
    compile_flags: tuple[str, ...]
    lacks: frozenset[str] = frozenset()
    identity: str = ""


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """A line of the list of targets: an accepted name and what it stands for."""

    name: str
    description: str


def parse_target(name: str) -> Target:
    """The target that a name of ``list_targets`` stands for.

    Raises UsageError TC211 for any other name, with those that come near: the compiler itself accepts nonsense.
    """
    kind, _, variant = name.partition(":")
    make = _KINDS.get(kind)
    target = make(name, variant) if make is not None and not name.endswith(":") else None
    if target is None:
        raise UsageError("TC211", f"unknown target {name!r}", f"{_near(name)}`toolchain targets` lists them all")
    return target


def _near(name: str) -> str:
    """``"did you mean ...? "`` with names that are spelled alike, or stand for what the user calls it."""
    infos = list_targets()
    words = _words(name.rpartition(":")[2])
    meant = [info.name for info in infos if words and words <= _words(f"{info.name} {info.description}")]
    close = meant or difflib.get_close_matches(name, [info.name for info in infos], 3)
    return f"did you mean {' or '.join(close[:3])}? " if close else ""


def _words(text: str) -> set[str]:
    return {word for word in re.split(r"\W+", text.lower()) if word}


def list_targets() -> tuple[TargetInfo, ...]:
    """Every accepted name, aliases included."""
    return (
        TargetInfo("cpu", "this machine's processor, the same as cpu:host"),
        TargetInfo("cpu:host", "this machine's processor"),
        TargetInfo("cpu:generic", "any x86-64 processor, the same as cpu:x86-64"),
        *(TargetInfo(f"cpu:{cpu}", "any machine that has " + _newest(cpu)) for cpu in CPU_FLAGS),
        TargetInfo("cpu:aarch64", "any 64-bit Arm processor"),
        *(TargetInfo(f"cpu:aarch64:{core}", f"64-bit Arm, {core} and later") for core in AARCH64_FLAGS),
        TargetInfo("cuda", f"the same as cuda:{CUDA_DEFAULT}"),
        *(TargetInfo(f"cuda:{name}", text) for name, text in CUDA_ARCHITECTURES.items()),
        TargetInfo("vulkan", f"the same as vulkan:{VULKAN_DEFAULT}"),
        *(TargetInfo(f"vulkan:{name}", text) for name, text in VULKAN_DEVICES.items()),
    )


def _newest(cpu: str) -> str:
    known = {"avx512_fp16": "AVX512-FP16", "avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX", "sse4_2": "SSE4.2"}
    return next((title for flag, title in known.items() if flag in CPU_FLAGS[cpu]), "SSE2")


def _cpu_target(name: str, variant: str) -> Target | None:
    architecture, _, core = variant.partition(":")
    if architecture == "aarch64":
        return _aarch64(name, core)
    if variant in ("", "host"):
        machine = _this_machine()
        return Target(name, "cpu:host", "cpu", machine.flags, _cpu_flags("host"), identity=machine.model)
    cpu = "x86-64" if variant == "generic" else variant
    if cpu not in CPU_FLAGS:
        return None
    # Named in full, so that the target means the same on a machine of another architecture.
    return Target(name, f"cpu:{variant}", "cpu", tuple(sorted(CPU_FLAGS[cpu])), _cpu_flags(cpu, "x86_64"))


def _aarch64(name: str, core: str) -> Target | None:
    flags = AARCH64_FLAGS.get(core) if core else AARCH64_BASE
    if flags is None:
        return None
    return Target(name, name, "cpu", tuple(sorted(flags)), _cpu_flags(core or "generic", "aarch64"))


def _cpu_flags(cpu: str, architecture: str = "") -> tuple[str, ...]:
    triple = (f"--iree-llvmcpu-target-triple={architecture}-unknown-linux-gnu",) if architecture else ()
    return (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        *triple,
        f"--iree-llvmcpu-target-cpu={cpu}",
    )


def _cuda_target(name: str, variant: str) -> Target | None:
    architecture = variant or CUDA_DEFAULT
    if architecture not in CUDA_ARCHITECTURES:
        return None
    return Target(name, f"cuda:{architecture}", "cuda", (architecture,), cuda_flags(architecture))


def _vulkan_target(name: str, variant: str) -> Target | None:
    device = variant or VULKAN_DEFAULT
    if device not in VULKAN_DEVICES:
        return None
    return Target(name, f"vulkan:{device}", "vulkan", (), vulkan_flags(device), lacks=frozenset(("bfloat16",)))


@dataclass(frozen=True, slots=True)
class _Machine:
    model: str
    flags: tuple[str, ...]


@functools.cache
def _this_machine() -> _Machine:
    try:
        return parse_cpuinfo(Path("/proc/cpuinfo").read_text())
    except OSError as error:
        raise ToolEnvironmentError(
            "TC411", f"this machine's processor cannot be identified: {error}", "name a processor, as in cpu:x86-64-v3"
        ) from error


def parse_cpuinfo(text: str) -> _Machine:
    """The first processor of ``/proc/cpuinfo``; ToolEnvironmentError TC411 if it is no x86-64."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), value.strip())
    flags = set(fields.get("flags", "").split())
    if "sse2" not in flags:
        raise ToolEnvironmentError(
            "TC411", "this machine is not an x86-64 Linux machine", "name a processor, as in cpu:x86-64-v3"
        )
    model = "/".join(fields.get(key, "?") for key in ("vendor_id", "cpu family", "model", "stepping"))
    # The compiler may use every flag that it detects, also those that have no name in our table.
    return _Machine(f"{model} {' '.join(sorted(flags))}", tuple(sorted(flags & KNOWN_FLAGS)))


_KINDS: MappingProxyType[str, Callable[[str, str], Target | None]] = MappingProxyType(
    {"cpu": _cpu_target, "cuda": _cuda_target, "vulkan": _vulkan_target}
)
