from __future__ import annotations

from dataclasses import replace

import torch

from tests.ir.programs import early_exits, gates, if_else
from tests.passes.pass_testing import check
from toolchain.ir import instances
from toolchain.passes.deduplicate import deduplicate
from toolchain.passes.partition import partition


def test_subgraphs_that_differ_in_weights_only_become_one() -> None:
    changed = check(deduplicate, early_exits(5), partition)
    assert list(changed.subgraphs) == ["sg0"]
    assert [weights for _, weights in instances(changed)] == [(f"w{i}",) for i in range(5)]


def test_different_operations_stay_different() -> None:
    changed = check(deduplicate, if_else(), partition)
    assert len(changed.subgraphs) == 3


def test_weights_of_different_type_make_different_subgraphs() -> None:
    case = gates(2)
    [function] = case.program.functions
    wide = replace(case.program, constants={**case.program.constants, "w1": torch.ones(4, dtype=torch.float64)})
    assert len(deduplicate(partition(case.program)).subgraphs) == 3
    # The constant's declared type decides, which the front end takes from the tensor.
    text = [str(s.weights[0].type) for s in deduplicate(partition(wide)).subgraphs.values() if s.weights]
    assert function.name == "gates"
    assert text == ["tensor<4xfloat32>"] * 2
