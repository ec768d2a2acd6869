"""The whole pipeline, and every pass on every hand-built program."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ir.programs import CASES, gates
from tests.passes.pass_testing import check, random_case
from toolchain.ir import Branch, instances
from toolchain.ir.printer import print_program
from toolchain.passes import PIPELINE, run_pipeline


@pytest.mark.parametrize("name", CASES)
def test_every_pass_of_the_pipeline_keeps_the_meaning(name: str) -> None:
    case = CASES[name]()
    for index, change in enumerate(PIPELINE):
        check(change, case, *PIPELINE[:index])


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32), size=st.integers(5, 50))
def test_pipeline_keeps_the_meaning_of_random_programs(seed: int, size: int) -> None:
    check(lambda program: run_pipeline(program, verify=True), random_case(seed, size))


def test_no_decision_is_lost() -> None:
    for make in CASES.values():
        program = make().program
        before, after = (
            sum(isinstance(b.terminator, Branch) for f in p.functions for b in f.blocks)
            for p in (program, run_pipeline(program))
        )
        assert before == after


def test_result_is_deterministic() -> None:
    texts = {print_program(run_pipeline(CASES["multiple_results"]().program)) for _ in range(3)}
    assert len(texts) == 1


def test_gates_share_their_executables_and_predicates() -> None:
    program = run_pipeline(gates(54).program, verify=True)
    # One subgraph for the policy with all its predicates, one for all gated blocks.
    assert len(program.subgraphs) == 2
    assert len(instances(program)) == 55
