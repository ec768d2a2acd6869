"""Generated programs: fixed seeds of what ``make fuzz`` runs by the thousand, and the parts of the fuzzer."""

from __future__ import annotations

import pytest

from tests.fuzz.generator import program_of
from tests.fuzz.minimise import minimise
from tests.fuzz.oracles import check, check_unmerged

SIZE = 3
"""About how many statements ``forward`` has here; the programs of ``make fuzz`` are larger."""


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_generated_programs_do_what_eager_does(first: int) -> None:
    verdicts = {seed: check(program_of(seed, SIZE)) for seed in range(first, first + 10)}
    assert {seed: verdict for seed, verdict in verdicts.items() if verdict.kind != "right"} == {}


def test_merging_paths_changes_nothing() -> None:
    assert check_unmerged(program_of(0, SIZE), 0).kind == "right"


def test_the_same_seed_gives_the_same_program() -> None:
    assert program_of(7) == program_of(7)
    assert program_of(7) != program_of(8)


def test_a_failure_is_made_as_small_as_it_gets() -> None:
    source = "def f(x):\n    if x > 2:\n        for i in range(3):\n            y = y * 2 - bad(x)\n    return y\n"
    assert minimise(source, lambda candidate: "bad" in candidate) == "def f(x):\n    y = bad\n"
