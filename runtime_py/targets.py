"""Which of a bundle's targets this machine runs."""

from __future__ import annotations

import re
from pathlib import Path

from runtime_py.device import device_report
from runtime_py.errors import DeviceError
from runtime_py.format import Manifest

_KINDS = ("cpu", "cuda", "vulkan")


def cpu_flags(cpuinfo: str | None = None) -> frozenset[str]:
    """The flags of the first processor in the text of ``/proc/cpuinfo`` (this machine's by default).

    Empty where there is no such file.
    """
    if cpuinfo is None:
        file = Path("/proc/cpuinfo")
        cpuinfo = file.read_text() if file.exists() else ""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


def features_here(kind: str) -> frozenset[str]:
    """What this machine has of what modules for a kind of device may need (``ModuleFile.flags``).

    Raises ``DeviceError`` RT302 if it has no such device.
    """
    match kind:
        case "cpu":
            return cpu_flags()
        case "cuda":
            return cuda_architectures(device_report("cuda"))
        case _:
            return vulkan_features(device_report("vulkan"))


def cuda_architectures(report: str) -> frozenset[str]:
    """The architectures whose code a device runs, ``sm_0`` up to its own, from what IREE's runtime says about it."""
    found = re.search(r"^- gpu-compute-capability: (\d+)\.(\d+)", report, re.MULTILINE)
    newest = int(found[1]) * 10 + int(found[2]) if found else -1
    return frozenset(f"sm_{number}" for number in range(newest + 1))


def vulkan_features(report: str) -> frozenset[str]:
    """The features of a device, from what IREE's runtime says about it."""
    return frozenset(re.findall(r"(\w+)=yes", report))


def choose_target(manifest: Manifest, wanted: str | None, here: frozenset[str] | None = None) -> str:
    """The target to load: ``wanted`` may be a full name, a kind (``"cpu"``), or None for the first kind in the bundle.

    Among several of one kind it is the one that asks most of the machine: the CPU level with most flags, the newest
    CUDA architecture. ``here`` is what the machine has, by default ``features_here``.
    Raises ``DeviceError`` RT301 if the bundle or the machine has none, RT302 if there is no such device.
    """
    kind = wanted if wanted is not None else manifest.targets[0].partition(":")[0]
    matching = [t for t in manifest.targets if kind in (t, t.partition(":")[0])]
    if not matching:
        text = f"the bundle has no target {kind!r}, only {', '.join(manifest.targets)}"
        raise DeviceError("RT301", text, "load one of these, or build with another --target")
    if here is None:
        here = features_here(device_kind(matching[0]))
    needs = {target: required_flags(manifest, target) for target in matching}
    usable = [target for target in matching if needs[target] <= here]
    if not usable:
        missing = "; ".join(f"{t} needs {', '.join(sorted(needs[t] - here))}" for t in matching)
        text = f"this machine runs none of the bundle's modules: {missing}"
        raise DeviceError("RT301", text, "`toolchain targets` shows what runs here: build for one of these")
    return max(usable, key=lambda target: (len(needs[target]), _architecture(target)))


def _architecture(target: str) -> int:
    return int(target.removeprefix("cuda:sm_")) if target.startswith("cuda:sm_") else 0


def required_flags(manifest: Manifest, target: str) -> frozenset[str]:
    """What some module of ``target`` needs."""
    files = (module.files[target] for module in manifest.modules if target in module.files)
    return frozenset(flag for file in files for flag in file.flags)


def device_kind(target: str) -> str:
    """The kind of device that runs ``target``. Raises ``DeviceError`` RT301 for a target of a later toolchain."""
    kind = target.partition(":")[0]
    if kind not in _KINDS:
        raise DeviceError("RT301", f"this runtime has no device for target {target!r}")
    return kind
