"""Names of targets -> what the compiler is told and what the machine must have.

A new kind of device is one more entry of ``_KINDS``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from toolchain.diagnostics import ToolEnvironmentError, UsageError
from toolchain.lowering.cpus import CPU_FLAGS, KNOWN_FLAGS

TargetKind = Literal["cpu"]


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of machine that modules are compiled for.

    name:          as the user wrote it: ``"cpu"``.
    canonical:     the full name: ``"cpu:host"``.
    kind:          decides the runtime's driver.
    cpu:           the compiler's name of the processor, ``"host"`` for this machine's.
    cpu_flags:     ``/proc/cpuinfo`` flags that a machine must have to run the modules.
    compile_flags: for iree-compile.
    identity:      tells apart what one name means on different machines; part of the cache key.
    """

    name: str
    canonical: str
    kind: TargetKind
    cpu: str
    cpu_flags: tuple[str, ...]
    compile_flags: tuple[str, ...]
    identity: str = ""


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """A line of the list of targets: an accepted name and what it stands for."""

    name: str
    description: str


def parse_target(name: str) -> Target:
    """``cpu`` (this machine), ``cpu:generic`` (any x86-64), or ``cpu:`` and an LLVM processor name.

    Raises UsageError TC211 for any other name: the compiler itself accepts nonsense.
    """
    kind, _, variant = name.partition(":")
    make = _KINDS.get(kind)
    target = make(name, variant) if make is not None and not name.endswith(":") else None
    if target is None:
        names = ", ".join(info.name for info in list_targets())
        raise UsageError("TC211", f"unknown target {name!r}", f"the targets are {names}")
    return target


def list_targets() -> tuple[TargetInfo, ...]:
    """Every accepted name, aliases included."""
    levels = [TargetInfo(f"cpu:{cpu}", "any machine that has " + _newest(cpu)) for cpu in CPU_FLAGS]
    return (
        TargetInfo("cpu", "this machine's processor, the same as cpu:host"),
        TargetInfo("cpu:host", "this machine's processor"),
        TargetInfo("cpu:generic", "any x86-64 processor, the same as cpu:x86-64"),
        *levels,
    )


def _newest(cpu: str) -> str:
    known = {"avx512_fp16": "AVX512-FP16", "avx512f": "AVX-512", "avx2": "AVX2", "avx": "AVX", "sse4_2": "SSE4.2"}
    return next((title for flag, title in known.items() if flag in CPU_FLAGS[cpu]), "SSE2")


def _cpu_target(name: str, variant: str) -> Target | None:
    if variant in ("", "host"):
        machine = _this_machine()
        return _cpu(name, "cpu:host", "host", machine.flags, machine.model)
    cpu = "x86-64" if variant == "generic" else variant
    if cpu not in CPU_FLAGS:
        return None
    return _cpu(name, f"cpu:{variant}", cpu, tuple(sorted(CPU_FLAGS[cpu])))


def _cpu(name: str, canonical: str, cpu: str, flags: tuple[str, ...], identity: str = "") -> Target:
    compile_flags = (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        f"--iree-llvmcpu-target-cpu={cpu}",
    )
    return Target(name, canonical, "cpu", cpu, flags, compile_flags, identity)


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


_KINDS: MappingProxyType[str, Callable[[str, str], Target | None]] = MappingProxyType({"cpu": _cpu_target})
