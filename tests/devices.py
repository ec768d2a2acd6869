"""Which devices this machine has."""

from __future__ import annotations

import functools

import pytest

import runtime_py
from runtime_py.device import open_device


@functools.cache
def missing(kind: str) -> str:
    """Why there is no device of this kind, or ""."""
    try:
        open_device(kind)
    except runtime_py.DeviceError as error:
        return error.message
    return ""


def require(kind: str) -> str:
    """The name of the target; skips the test where there is no such device."""
    if reason := missing(kind):
        pytest.skip(reason)
    return kind
