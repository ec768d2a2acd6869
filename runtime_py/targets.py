"""Which of a bundle's targets this machine runs."""

from __future__ import annotations

from pathlib import Path

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


def choose_target(manifest: Manifest, wanted: str | None, flags: frozenset[str] | None = None) -> str:
    """The target to load: ``wanted`` may be a full name, a kind (``"cpu"``), or None for the first kind in the bundle.

    Among several of one kind it is the one that needs the most CPU flags of those that this machine satisfies.
    Raises ``DeviceError`` RT301 if there is none.
    """
    kind = wanted if wanted is not None else manifest.targets[0].partition(":")[0]
    matching = [t for t in manifest.targets if kind in (t, t.partition(":")[0])]
    if not matching:
        text = f"the bundle has no target {kind!r}, only {', '.join(manifest.targets)}"
        raise DeviceError("RT301", text, "load one of these, or build with another --target")
    here = cpu_flags() if flags is None else flags
    needs = {target: required_flags(manifest, target) for target in matching}
    usable = [target for target in matching if needs[target] <= here]
    if not usable:
        missing = "; ".join(f"{t} needs {', '.join(sorted(needs[t] - here))}" for t in matching)
        text = f"this processor runs none of the bundle's modules: {missing}"
        raise DeviceError("RT301", text, "build for cpu:generic")
    return max(usable, key=lambda target: len(needs[target]))


def required_flags(manifest: Manifest, target: str) -> frozenset[str]:
    """CPU flags that some module of ``target`` needs."""
    files = (module.files[target] for module in manifest.modules if target in module.files)
    return frozenset(flag for file in files for flag in file.flags)


def device_kind(target: str) -> str:
    """The kind of device that runs ``target``. Raises ``DeviceError`` RT301 for a target of a later toolchain."""
    kind = target.partition(":")[0]
    if kind not in _KINDS:
        raise DeviceError("RT301", f"this runtime has no device for target {target!r}")
    return kind
