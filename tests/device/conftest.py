from __future__ import annotations

import pytest

from tests.devices import require


@pytest.fixture(scope="session")
def vulkan() -> str:
    """The name of the target; skips where there is no Vulkan device."""
    return require("vulkan")


@pytest.fixture(scope="session")
def cuda() -> str:
    """The name of the target; skips where there is no CUDA device."""
    return require("cuda")
