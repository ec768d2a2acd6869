"""What loading needs and what it leaves behind, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import runtime_py

ROOT = Path(__file__).parents[2]


def run(script: str, *arguments: object) -> str:
    command = [sys.executable, "-W", "error", "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


def test_public_names() -> None:
    assert sorted(runtime_py.__all__) == [
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
    assert all(hasattr(runtime_py, name) for name in runtime_py.__all__)


def test_running_needs_neither_torch_nor_the_toolchain(gate_bundle: Path) -> None:
    script = """
import sys, numpy as np, runtime_py
session = runtime_py.load(sys.argv[1])
print(session(np.ones(4, np.float32))["out"].tolist(), type(session.state["total"]).__name__)
print(sorted({name.partition(".")[0] for name in sys.modules} & {"torch", "toolchain", "msgspec"}))
"""
    assert run(script, gate_bundle).splitlines() == ["[2.0, 2.0, 2.0, 2.0] ndarray", "[]"]


@pytest.mark.parametrize("keep", ["session", "runtime_py.kept = session", "loop = [session]; loop.append(loop)"])
def test_clean_exit_whatever_is_still_alive(gate_bundle: Path, keep: str) -> None:
    script = f"""
import sys, torch, runtime_py
session = runtime_py.load(sys.argv[1])
out = session(torch.ones(4))
values = session._values
{keep}
print("done")
"""
    assert run(script, gate_bundle) == "done\n"


def test_clean_exit_after_an_error(gate_bundle: Path) -> None:
    script = """
import sys, numpy as np, runtime_py
session = runtime_py.load(sys.argv[1])
def fail(session, view):
    raise ValueError("as expected")
fail(session, session._values[1])
"""
    done = subprocess.run([sys.executable, "-c", script, gate_bundle], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr.endswith("ValueError: as expected\n")


def test_clean_exit_when_something_holds_a_function_of_the_runtime(gate_bundle: Path) -> None:
    """C++ that keeps a function (a registration with PyTorch, say) keeps all globals of its module."""
    script = """
import ctypes, sys, torch, runtime_py
from runtime_py.device import open_device
ctypes.pythonapi.Py_IncRef(ctypes.py_object(open_device))
session = runtime_py.load(sys.argv[1])
session(torch.ones(4))
print("done")
"""
    assert run(script, gate_bundle) == "done\n"
