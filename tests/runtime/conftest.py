from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.support import ADD, GATE_HOST, STEP, VERSIONS, compile_mlir, compiled, described, gate_program
from toolchain.bundle import write_bundle
from toolchain.lowering import Compilation, parse_target


@pytest.fixture(scope="session")
def gate_modules(tmp_path_factory: pytest.TempPathFactory) -> Compilation:
    folder = tmp_path_factory.mktemp("modules")
    step = described(compile_mlir(STEP, folder, "step"), ("tensor", "i64"), ("tensor", "tensor"))
    add = described(compile_mlir(ADD, folder, "add"), ("tensor", "tensor"), ("tensor",))
    return compiled({"step": step, "add": add})


@pytest.fixture(scope="session")
def gate_bundle(gate_modules: Compilation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two instances of one module, a third module, an int and a tensor as state; not to be changed."""
    out = tmp_path_factory.mktemp("bundles") / "gate.bundle"
    host = {"host/python/program.py": GATE_HOST.encode()}
    return write_bundle(gate_program(), gate_modules, [parse_target("cpu")], host, (), out, VERSIONS)
