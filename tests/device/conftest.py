from __future__ import annotations

import pytest

import runtime_py
from runtime_py.device import open_device


def _device(kind: str) -> str:
    try:
        open_device(kind)
    except runtime_py.DeviceError as error:
        pytest.skip(error.message)
    return kind


@pytest.fixture(scope="session")
def vulkan() -> str:
    """The name of the target; skips where there is no Vulkan device."""
    return _device("vulkan")


@pytest.fixture(scope="session")
def cuda() -> str:
    """The name of the target; skips where there is no CUDA device."""
    return _device("cuda")
