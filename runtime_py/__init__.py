"""Loads and runs bundles. Needs NumPy and IREE's runtime; PyTorch tensors are welcome, but PyTorch is not needed."""

from runtime_py.decisions import Decision
from runtime_py.errors import BundleError, DeviceError, FuelError, HostOverflowError, InputError, SessionError
from runtime_py.session import Session, load

__all__ = [
    "BundleError",
    "Decision",
    "DeviceError",
    "FuelError",
    "HostOverflowError",
    "InputError",
    "Session",
    "SessionError",
    "load",
]
