"""The embedding program supplies the functions that a network calls; they are checked as in Python."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

import toolchain
from tests.cpp.native import IREE_COMPILE, WARNINGS, build, run

PROJECT = Path(__file__).parent / "host_calls"


@toolchain.host_call
def spell(ids, separator):
    """The text of ids, and those of them that are not 0."""
    text, letters = separator.join(map(str, ids.tolist())), ids[ids > 0]
    if not len(letters):
        raise ValueError(f"no letters in {text}")
    return text, letters


@toolchain.host_call
def note(count, is_long, other):
    """Only has an effect."""


class Net(torch.nn.Module):
    def forward(self, ids):
        text, letters = spell(ids + 0, separator="-")
        note(letters.shape[0], letters.shape[0] > 3, None)
        if letters.sum() > 20:
            letters = letters * 2
        return f"<{text}>", letters


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_functions_of_the_embedding_program(tmp_path: Path) -> None:
    bundle, project = tmp_path / "net.bundle", tmp_path / "project"
    calls = [(torch.tensor([1, 0, 2]),), (torch.tensor([5, 6, 7, 8]),)]
    options = toolchain.BuildOptions(iree_compile=IREE_COMPILE)
    toolchain.build(Net().eval(), calls, hosts=("cpp",), out=bundle, options=options)
    shutil.copytree(PROJECT, project)
    shutil.copytree(bundle / "host/cpp", project / "network")
    build(project, tmp_path / "build", f"{WARNINGS} -O0 -fno-exceptions -fno-rtti", build_type="None")
    done = run((tmp_path / "build/host_calls", bundle))
    assert done.stdout.splitlines() == [
        *("<1-0-2> 3", "<1-0-2> 3"),
        *("<5-6-7-8> 52", "<5-6-7-8> 52"),
        *("ValueError: no letters in 0-0", "ValueError: no letters in 0-0"),
        *("2 short", "2 short", "4 long", "4 long"),
        *("RT107", "RT107"),
        *("RT309", "RT309", "RT309"),
    ]
    done = run((tmp_path / "build/network/Net_run", bundle, "--tests"))
    assert done.returncode == 1
    assert done.stderr.startswith("[RT107] the bundle calls ")
    assert done.stderr.endswith(
        "which the embedding program has to supply\n  hint: pass it to load: set HostCalls::spell\n"
    )
