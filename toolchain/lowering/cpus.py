"""Names of x86-64 processors that the compiler knows, and the ``/proc/cpuinfo`` flags that code for them may need.

Only flags that a code generator uses of its own accord count: a machine without, say, ``clzero`` or ``rdpru`` runs code
for ``znver4`` all the same. Virtual machines often hide such flags.
"""

from __future__ import annotations

from types import MappingProxyType

_V1 = ("cmov", "cx8", "fxsr", "mmx", "sse", "sse2")
_V2 = (*_V1, "cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3")
_V3 = (*_V2, "abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

_ICELAKE = (
    *_V4,
    *("avx512_bitalg", "avx512_vbmi2", "avx512_vnni", "avx512_vpopcntdq", "avx512ifma", "avx512vbmi", "gfni"),
)
_SAPPHIRE = (*_ICELAKE, "avx512_bf16", "avx512_fp16", "avx_vnni")
_ALDER = (*_V3, "avx_vnni", "gfni")
_ZEN1 = (*_V3, "sse4a")
_ZEN4 = (*_ICELAKE, "avx512_bf16", "sse4a")

CPU_FLAGS: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {
        "x86-64": _V1,
        "x86-64-v2": _V2,
        "x86-64-v3": _V3,
        "x86-64-v4": _V4,
        "nehalem": _V2,
        "westmere": _V2,
        "sandybridge": (*_V2, "avx"),
        "ivybridge": (*_V2, "avx", "f16c"),
        "haswell": _V3,
        "broadwell": _V3,
        "skylake": _V3,
        "skylake-avx512": _V4,
        "cascadelake": (*_V4, "avx512_vnni"),
        "cooperlake": (*_V4, "avx512_bf16", "avx512_vnni"),
        "icelake-client": _ICELAKE,
        "icelake-server": _ICELAKE,
        "rocketlake": _ICELAKE,
        "tigerlake": (*_ICELAKE, "avx512_vp2intersect"),
        "sapphirerapids": _SAPPHIRE,
        "emeraldrapids": _SAPPHIRE,
        "graniterapids": _SAPPHIRE,
        "silvermont": (*_V2, "movbe"),
        "goldmont": (*_V2, "movbe"),
        "tremont": (*_V2, "gfni", "movbe"),
        "alderlake": _ALDER,
        "raptorlake": _ALDER,
        "meteorlake": _ALDER,
        "gracemont": _ALDER,
        "znver1": _ZEN1,
        "znver2": _ZEN1,
        "znver3": _ZEN1,
        "znver4": _ZEN4,
        "znver5": (*_ZEN4, "avx512_vp2intersect", "avx_vnni"),
    }
)

# What ``cpu:host`` looks for on this machine: everything that some entry above names.
KNOWN_FLAGS = frozenset(flag for flags in CPU_FLAGS.values() for flag in flags)

AARCH64_BASE = ("asimd", "fp")
_ARM_V8 = (*AARCH64_BASE, "aes", "crc32", "pmull", "sha1", "sha2")
_ARM_V8_2 = (*_ARM_V8, "asimddp", "asimdhp", "asimdrdm", "atomics", "fphp", "lrcpc")
_CARMEL = (*_ARM_V8, "asimdhp", "asimdrdm", "atomics", "fphp")

# Linux names of 64-bit Arm features, by LLVM processor name.
AARCH64_FLAGS: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {
        "cortex-a53": _ARM_V8,
        "cortex-a55": _ARM_V8_2,
        "cortex-a57": _ARM_V8,
        "cortex-a72": _ARM_V8,
        "cortex-a73": _ARM_V8,
        "cortex-a75": _ARM_V8_2,
        "cortex-a76": _ARM_V8_2,
        "cortex-a77": _ARM_V8_2,
        "cortex-a78": _ARM_V8_2,
        "cortex-a78ae": _ARM_V8_2,
        "cortex-x1": _ARM_V8_2,
        "neoverse-n1": _ARM_V8_2,
        "carmel": _CARMEL,
    }
)
