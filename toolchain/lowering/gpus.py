"""Names of GPUs that the compiler knows, and what it is told for them.

The compiler crashes on names that it does not know, so the tables hold those that it was seen to accept; a test
compiles for each.
"""

from __future__ import annotations

import struct
from types import MappingProxyType

CUDA_ARCHITECTURES: MappingProxyType[str, str] = MappingProxyType(
    {
        "sm_60": "NVIDIA Pascal, such as P100",
        "sm_61": "NVIDIA Pascal, such as GTX 1080",
        "sm_62": "Jetson TX2",
        "sm_70": "NVIDIA Volta, such as V100",
        "sm_72": "Jetson Xavier",
        "sm_75": "NVIDIA Turing, such as T4 and RTX 2080",
        "sm_80": "NVIDIA Ampere, such as A100, and all later ones (the driver translates)",
        "sm_86": "NVIDIA Ampere, such as A10 and RTX 3090",
        "sm_87": "Jetson Orin",
        "sm_89": "NVIDIA Ada, such as L4 and RTX 4090, and all later ones (the driver translates)",
        "sm_120": "NVIDIA Blackwell, such as RTX 5090",
        "sm_121": "NVIDIA Blackwell, DGX Spark",
    }
)
CUDA_DEFAULT = "sm_80"

VULKAN_DEVICES: MappingProxyType[str, str] = MappingProxyType(
    {
        "generic": "any Vulkan 1.1 device, software ones included",
        "adreno": "Qualcomm Adreno",
        "valhall1": "Arm Mali-G57 and G77",
        "valhall2": "Arm Mali-G68 and G78",
        "valhall3": "Arm Mali-G310, G510, G610 and G710",
        "valhall4": "Arm Mali-G615, G715 and Immortalis",
        "rdna1": "AMD RX 5000",
        "rdna2": "AMD RX 6000, Steam Deck",
        "rdna3": "AMD RX 7000",
        "rdna4": "AMD RX 9000",
        "turing": "NVIDIA Turing, such as RTX 2080",
        "ampere": "NVIDIA Ampere, such as RTX 3090 and Jetson Orin",
        "ada": "NVIDIA Ada, such as RTX 4090",
    }
)
VULKAN_DEFAULT = "generic"

# Without storage of 8 and 16 bits in its list, the compiler packs narrow elements into 32-bit words, and every buffer
# (results, arguments, intermediates) whose length is no multiple of four bytes loses its tail: a lone true predicate
# reads false. Packed float16 is wrong at any length.
_SPIRV = ",".join(
    (
        "spirv:v1.3",
        "cap:Shader",
        *(f"cap:{name}" for name in ("Int8", "Int16", "Int64", "Float16", "Float64")),
        *("cap:StorageBuffer8BitAccess", "cap:StorageBuffer16BitAccess"),
        *("ext:SPV_KHR_8bit_storage", "ext:SPV_KHR_16bit_storage"),
    )
)

# The limits that every device grants, no subgroups (the compiler's own descriptions give wrong reductions where the
# size of subgroups differs), and all widths of numbers: modules declare those that they use.
_GENERIC = (
    '#hal.device.target<"vulkan", [#hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", {'
    f'iree_codegen.target_info = #iree_gpu.target<arch = "generic", features = "{_SPIRV}", wgp = <'
    "compute = fp64|fp32|fp16|int64|int32|int16|int8, storage = b64|b32|b16|b8, subgroup = none, "
    "subgroup_size_choices = [64], max_workgroup_sizes = [128, 128, 64], max_thread_count_per_workgroup = 128, "
    "max_workgroup_memory_bytes = 16384, max_workgroup_counts = [65535, 65535, 65535]>>}>]> : !hal.device"
)


def cuda_flags(architecture: str) -> tuple[str, ...]:
    return "--iree-hal-target-device=cuda", f"--iree-cuda-target={architecture}"


# A command buffer that takes its buffers at each call copies those of the first call again (IREE 3.13).
_FIXED_BUFFERS = "--iree-hal-indirect-command-buffers=false"


def vulkan_flags(device: str) -> tuple[str, ...]:
    if device == "generic":
        return f"--iree-hal-target-device={_GENERIC}", _FIXED_BUFFERS
    target = f"--iree-vulkan-target={device}"
    return "--iree-hal-target-device=vulkan", target, f"--iree-vulkan-target-features={_SPIRV}", _FIXED_BUFFERS


# SPIR-V capabilities that a device need not have, as IREE's runtime names them when it reports on a device.
_REPORTED = MappingProxyType(
    {9: "shaderFloat16", 39: "shaderInt8", 4433: "storageBuffer16BitAccess", 4448: "storageBuffer8BitAccess"}
)
_SPIRV_MAGIC = struct.pack("<I", 0x07230203)
_SPIRV_HEADER_BYTES = 20
_OP_CAPABILITY = 2 << 16 | 17


def vulkan_features(vmfb: bytes) -> tuple[str, ...]:
    """What the shaders of a module declare that they use, out of the features that a device reports, sorted."""
    found: set[int] = set()
    at = vmfb.find(_SPIRV_MAGIC)
    while at >= 0:
        at += _SPIRV_HEADER_BYTES
        # Capabilities come first in a SPIR-V module.
        while vmfb[at : at + 4] == struct.pack("<I", _OP_CAPABILITY):
            found.add(struct.unpack_from("<I", vmfb, at + 4)[0])
            at += 8
        at = vmfb.find(_SPIRV_MAGIC, at)
    return tuple(sorted(name for number, name in _REPORTED.items() if number in found))
