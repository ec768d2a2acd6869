"""Which targets this machine builds for, and which it runs."""

from __future__ import annotations

import functools
import re
import subprocess
from dataclasses import dataclass

import runtime_py
from runtime_py.device import device_report
from runtime_py.targets import features_here
from toolchain.diagnostics import ToolchainError, ToolEnvironmentError
from toolchain.lowering.iree import find_compiler
from toolchain.lowering.ptx import find_ptxas
from toolchain.lowering.targets import Target, TargetKind, list_targets, parse_target

_BACKENDS = {"cpu": "llvm-cpu", "cuda": "cuda", "vulkan": "vulkan-spirv"}


@dataclass(frozen=True, slots=True)
class Availability:
    """What this machine makes of a target.

    compiles: its compiler has the back end.
    runs:     it has such a device; None where only the user knows whether the device is of the named kind.
    device:   which device that would be, or why there is none.
    """

    name: str
    description: str
    compiles: bool
    runs: bool | None
    device: str


def survey() -> tuple[Availability, ...]:
    """Every target of ``list_targets``."""
    backends = _backends()
    return tuple(_availability(info.name, info.description, backends) for info in list_targets())


def _availability(name: str, description: str, backends: frozenset[str]) -> Availability:
    try:
        target = parse_target(name)
    except ToolEnvironmentError as error:
        return Availability(name, description, False, False, error.message)
    compiles = _BACKENDS[target.kind] in backends
    features, device = _device(target.kind)
    return Availability(name, description, compiles, _runs(target, features), device)


def _runs(target: Target, features: frozenset[str] | None) -> bool | None:
    if features is None:
        return False
    if target.kind == "vulkan" and target.canonical != "vulkan:generic":
        return None
    return features.issuperset(target.features)


@functools.cache
def _device(kind: TargetKind) -> tuple[frozenset[str] | None, str]:
    """What the machine's device of a kind has, None without one; and its name, or why there is none."""
    try:
        features = features_here(kind)
        return features, device_name(kind)
    except runtime_py.DeviceError as error:
        return None, error.message


def device_name(kind: str) -> str:
    """How the device calls itself. Raises ``DeviceError`` RT302 if there is none."""
    if kind == "cpu":
        return "this processor"
    found = re.search(r"^(?:- )?name: (.*)", device_report(kind), re.MULTILINE)
    return found[1] if found else kind


def _backends() -> frozenset[str]:
    """Those of the compiler; none without a compiler."""
    try:
        command = [str(find_compiler().path), "--iree-hal-list-target-backends"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (ToolEnvironmentError, OSError, subprocess.SubprocessError):
        return frozenset()
    return frozenset(listed.stdout.split())


def optional_parts() -> dict[str, str]:
    """What some targets need and this machine has, or why it lacks it."""
    try:
        ptxas = str(find_ptxas())
    except ToolchainError as error:
        ptxas = f"{error.message}: {error.hint}"
    return {"Vulkan device": _device("vulkan")[1], "CUDA device": _device("cuda")[1], "ptxas": ptxas}
