from __future__ import annotations

from pathlib import Path

import pytest

from toolchain.lowering import Target, parse_target
from toolchain.lowering.cache import default_directory


@pytest.fixture(scope="session")
def cache_dir() -> Path:
    """The user's: entries are keyed by content, and most of a test's time is the compiler's."""
    return default_directory()


@pytest.fixture(scope="session")
def cpu() -> Target:
    return parse_target("cpu")
