from __future__ import annotations

from pathlib import Path

import pytest

from toolchain.lowering import Target, parse_target


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def cpu() -> Target:
    return parse_target("cpu")
