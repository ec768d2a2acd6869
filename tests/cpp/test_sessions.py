"""Threads, clones, state and lifetimes of generated C++ programs, under sanitizers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

import toolchain
from tests.cpp.native import IREE_COMPILE, SANITIZERS, WARNINGS, build, run

PROJECT = Path(__file__).parent / "sessions"


class Counter(torch.nn.Module):
    count: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.count = self.count + x.sum()
        return x, self.count


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_sessions_keep_their_promises(tmp_path: Path) -> None:
    options = toolchain.BuildOptions(iree_compile=IREE_COMPILE)
    example = (torch.ones(16),)
    built = toolchain.build(Counter().eval(), [example], hosts=("cpp",), out=tmp_path / "b.bundle", options=options)
    project = tmp_path / "project"
    shutil.copytree(built.path / "host" / "cpp", project / "network")
    shutil.copytree(PROJECT, project, dirs_exist_ok=True)
    build(project, project / "build", f"{WARNINGS} {SANITIZERS}", build_type="None")
    done = run([project / "build" / "sessions", built.path])
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "calls on one session take turns: yes",
            "clones have states of their own: yes",
            "a reset goes back to the start: yes",
            "results outlive sessions and arguments: yes",
        ],
    ), done.stderr
