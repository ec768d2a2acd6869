"""Devices: one of each kind per process, shared by all sessions; and how host bytes get there and back."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import iree.runtime as iree
import numpy as np

from runtime_py.dtypes import BY_ELEMENT, DTYPES, DType
from runtime_py.errors import DeviceError

_DRIVERS = {"cpu": "local-sync", "cuda": "cuda", "vulkan": "vulkan"}
_MEMORY = int(iree.MemoryType.DEVICE_LOCAL)
_MAPPABLE = int(iree.MemoryType.DEVICE_LOCAL | iree.MemoryType.HOST_VISIBLE)
_STAGING = int(iree.MemoryType.HOST_LOCAL | iree.MemoryType.DEVICE_VISIBLE)
_USAGE = int(iree.BufferUsage.DEFAULT)
_STAGING_USAGE = int(iree.BufferUsage.TRANSFER_TARGET | iree.BufferUsage.MAPPING_SCOPED)


class Device:
    """An opened device.

    is_host: its memory is the host's, so that reading is mapping and importing is free.
    """

    def __init__(self, kind: str, hal: Any) -> None:
        self.kind = kind
        self.hal = hal
        self.is_host = kind == "cpu"
        self._allocator = hal.allocator

    def upload(self, bits: np.ndarray[Any, Any], dtype: DType) -> Any:
        """A new buffer view with a copy of ``bits`` (of the storage dtype, any layout)."""
        bits = np.ascontiguousarray(bits).reshape(bits.shape)
        return self._allocator.allocate_buffer_copy(_MEMORY, _USAGE, self.hal, bits, dtype.element)

    def share(self, memory: Any, shape: Sequence[int], dtype: DType) -> Any:
        """A buffer view of writable host memory (64-byte aligned), which it keeps alive; only if ``is_host``."""
        buffer = self._allocator.import_host_allocation(memory, _MAPPABLE, _USAGE)
        return iree.HalBufferView(buffer, list(shape), dtype.element)

    def read(self, view: Any) -> Any:
        """The bytes of ``view`` as an object with the buffer protocol: no copy if ``is_host``."""
        return view.map() if self.is_host else self._download(view)

    def _download(self, view: Any) -> Any:
        # IREE's own readback imports an unaligned host pointer, which Vulkan refuses: stage in an allocated buffer.
        source = view.get_buffer()
        staging = self._allocator.allocate_buffer(_STAGING, _STAGING_USAGE, source.byte_length())
        semaphore = self.hal.create_semaphore(0)
        self.hal.queue_copy(
            source,
            staging,
            wait_semaphores=iree.HalFence.create_at(semaphore, 0),
            signal_semaphores=iree.HalFence.create_at(semaphore, 1),
        )
        iree.HalFence.create_at(semaphore, 1).wait()
        return staging.map()

    def array(self, view: Any) -> np.ndarray[Any, Any]:
        """``view`` as a read-only array of the storage dtype: no copy if ``is_host``."""
        return np.frombuffer(self.read(view), dtype_of(view).storage).reshape(view.shape)


def dtype_of(view: Any) -> DType:
    """The element type of a buffer view. Raises ``DeviceError`` RT304 for one that programs cannot hold."""
    dtype = BY_ELEMENT.get(view.element_type)
    if dtype is None:
        raise DeviceError("RT304", f"a module returned elements of an unknown type ({view.element_type:#x})")
    return dtype


_lock = threading.Lock()
# Buffers of the caching allocator crash when they outlive their device, and at exit Python drops globals in any order
# or, where something still holds a function of this module, not at all. The attributes of ``sys`` go last, and surely.
sys._runtime_py_devices = {}  # type: ignore[attr-defined]


def open_device(kind: str) -> Device:
    """The device of this process for ``"cpu"``, ``"cuda"`` or ``"vulkan"``.

    Raises ``DeviceError`` RT302 if the machine has none.
    """
    devices: dict[str, Device] = sys._runtime_py_devices  # type: ignore[attr-defined]
    with _lock:
        if kind not in devices:
            devices[kind] = Device(kind, _create(kind))
        return devices[kind]


def device_report(kind: str) -> str:
    """What IREE's driver says about the device that ``open_device`` opens, as text for people.

    Raises ``DeviceError`` RT302 if the machine has none.
    """
    with _opening(kind):
        driver = iree.get_driver(_DRIVERS[kind])
        report: str = driver.dump_device_info(driver.query_available_devices()[0]["device_id"])
        return report


def _create(kind: str) -> Any:
    with _opening(kind):
        return iree.get_driver(_DRIVERS[kind]).create_default_device(allocators=["caching"] if kind == "cpu" else None)


_HINTS = {
    "cpu": "reinstall iree-base-runtime",
    "cuda": "install NVIDIA's driver (libcuda.so.1), or load the bundle with another target",
    "vulkan": "install a Vulkan driver (on Debian libvulkan1 and mesa-vulkan-drivers), or load another target",
}


@contextmanager
def _opening(kind: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # IREE puts file and line of its own source before the message.
        reason = str(error).rpartition("UNAVAILABLE; ")[2] or "the driver lists none"
        raise DeviceError("RT302", f"no {kind} device can be opened: {reason}", _HINTS[kind]) from error


class _Current(threading.local):
    device: Device | None = None


_current = _Current()


def use_device(device: Device | None) -> Device | None:
    """Makes ``device`` the one that host operations of this thread work on; None: the CPU. Returns the one before."""
    before, _current.device = _current.device, device
    return before


def current_device() -> Device:
    """The device of the running session; outside of calls, the CPU."""
    return _current.device or open_device("cpu")


def new_view(bits: np.ndarray[Any, Any], name: str) -> Any:
    """A new buffer view on the current device: ``bits`` as elements of the dtype ``name``."""
    return current_device().upload(bits, DTYPES[name])
