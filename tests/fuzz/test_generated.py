"""Generated programs: fixed seeds of what ``make fuzz`` runs by the thousand."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import runtime_py
import toolchain
from tests.fuzz.generator import program_of
from tests.fuzz.minimise import minimise
from tests.fuzz.oracles import check, check_bundle, check_unmerged, examples_of
from tests.fuzz.worlds import load
from toolchain.diagnostics import UnsupportedModelError

SIZE = 5
"""Statements of ``forward``, about; the programs of ``make fuzz`` are larger."""


@pytest.mark.parametrize("first", range(0, 100, 10))
def test_generated_programs_do_what_eager_does(first: int) -> None:
    verdicts = {seed: check(program_of(seed, SIZE)) for seed in range(first, first + 10)}
    assert {seed: v for seed, v in verdicts.items() if v.kind == "failed"} == {}
