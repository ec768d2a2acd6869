"""Codes that no other test brings about: broken set-ups, and programs that defeat the stages behind the front end."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import runtime_py
import toolchain
from runtime_py.dtypes import numpy_dtype
from toolchain import environment
from toolchain.lowering.ptx import find_ptxas
from toolchain.lowering.targets import parse_target
from toolchain.lowering.vm import compile_host


def code_of(call: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    with pytest.raises(toolchain.ToolchainError) as caught:
        call(*args, **kwargs)
    return caught.value.code


def test_an_argument_that_cannot_be_passed() -> None:
    assert code_of(toolchain.explain, lambda x: x, [(range(3),)]) == "TC210"


def test_a_tensor_that_torch_mlir_has_no_type_for(tmp_path: Path) -> None:
    def unsigned(x: torch.Tensor) -> torch.Tensor:
        return x.to(torch.uint16).to(torch.float32)

    assert code_of(toolchain.build, unsigned, [(torch.ones(3),)], out=tmp_path / "net.bundle") == "TC302"


def test_a_host_program_that_the_compiler_refuses(tmp_path: Path) -> None:
    assert code_of(compile_host, "nonsense", parse_target("cpu"), cache_dir=tmp_path) == "TC306"


def test_another_python() -> None:
    assert environment._python("pypy", (3, 11)).code == environment._python("cpython", (3, 10)).code == "TC421"


def test_torch_mlir_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_mlir.fx", None)
    unmet = [check.code for check in environment.check_environment() if not check.ok]
    assert unmet == ["TC423"]


def test_there_is_no_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setattr(importlib.metadata, "files", lambda name: None)
    assert code_of(find_ptxas) == "TC425"


def test_brain_floats_without_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(runtime_py.SessionError) as caught:
        numpy_dtype.__wrapped__("bfloat16")
    assert caught.value.code == "RT206"


def test_eager_does_something_else_the_next_time(tmp_path: Path) -> None:
    """State of the interpreter itself, which nothing shows to the front end."""
    before = sys.getrecursionlimit()

    def program(x: torch.Tensor) -> torch.Tensor:
        sys.setrecursionlimit(sys.getrecursionlimit() + 1)
        return x * sys.getrecursionlimit()

    try:
        assert code_of(toolchain.build, program, [(torch.ones(3),)], out=tmp_path / "net.bundle") == "TC521"
    finally:
        sys.setrecursionlimit(before)
