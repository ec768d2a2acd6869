"""Arguments of the API are checked before anything else happens."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import toolchain
from toolchain import BuildOptions, ToolEnvironmentError, UsageError

X = (torch.ones(2),)
PUBLIC = {
    "BuildOptions",
    "Bundle",
    "Cut",
    "Dynamic",
    "Example",
    "Infeasible",
    "LoweringError",
    "Problem",
    "Report",
    "Summary",
    "TensorType",
    "ToolEnvironmentError",
    "ToolchainError",
    "UnsupportedModelError",
    "UsageError",
    "Verdict",
    "VerificationError",
    "build",
    "explain",
    "host_call",
    "verify",
}


def test_the_public_names() -> None:
    assert set(toolchain.__all__) == PUBLIC
    assert all(hasattr(toolchain, name) for name in PUBLIC)
    assert callable(toolchain.verify)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"module": 3}, "TC222"),
        ({"module": torch.nn.Linear(2, 2)}, "TC222"),
        ({"examples": torch.ones(2)}, "TC221"),
        ({"hosts": ()}, "TC223"),
        ({"hosts": "python"}, "TC223"),
        ({"hosts": ("fortran",)}, "TC223"),
        ({"hosts": ("python", "python")}, "TC223"),
        ({"targets": ()}, "TC225"),
        ({"targets": "cpu"}, "TC225"),
        ({"targets": ("cpu", "cpu:host")}, "TC225"),
        ({"targets": ("toaster",)}, "TC211"),
        ({"host_calls": (3,)}, "TC228"),
    ],
)
def test_bad_arguments(changes: dict[str, object], code: str, tmp_path: Path) -> None:
    arguments = {"module": torch.relu, "examples": X, "out": tmp_path / "b"} | changes
    with pytest.raises(UsageError) as caught:
        toolchain.build(**arguments)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("out", ["file", "folder", "file/net.bundle"])
def test_what_is_no_bundle_is_never_replaced(out: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/thing").write_text("precious")
    with pytest.raises(UsageError) as caught:
        toolchain.build(torch.relu, X, out=tmp_path / out)
    assert caught.value.code == "TC224"
    assert (tmp_path / "file").read_text() == (tmp_path / "folder/thing").read_text() == "precious"


def test_a_missing_compiler_is_found_before_the_model_is_explored(tmp_path: Path) -> None:
    with pytest.raises(ToolEnvironmentError) as caught:
        toolchain.build(torch.relu, X, out=tmp_path / "b", options=BuildOptions(iree_compile=tmp_path / "none"))
    assert caught.value.code == "TC401"
