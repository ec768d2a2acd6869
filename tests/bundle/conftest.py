from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.runtime.conftest import gate_bundle, gate_modules

__all__ = ["gate_bundle", "gate_modules"]


@pytest.fixture
def gate_bundle_copy(gate_bundle: Path, tmp_path: Path) -> Path:
    """A bundle to damage."""
    copy = tmp_path / "copy.bundle"
    shutil.copytree(gate_bundle, copy)
    return copy
