from __future__ import annotations

import torch

from tests.ir.programs import VECTORS, Case, S, V, early_exits, if_else, make_program, positive, weight
from tests.passes.pass_testing import check
from toolchain.ir import Leaf, instances
from toolchain.ir.builder import FunctionBuilder
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
    f = FunctionBuilder("mixed")
    entry, then, orelse = f.block(V), f.block(), f.block()
    [x] = entry.parameters
    entry.branch(positive(entry, x), (then,), (orelse,))
    then.return_(Leaf(then.tensor("aten.add.Tensor", x, weight("vector"))))
    orelse.return_(Leaf(orelse.tensor("aten.add.Tensor", x, weight("scalar", S))))
    program = make_program(f.build(), constants={"vector": torch.ones(4), "scalar": torch.tensor(2.0)})
    changed = check(deduplicate, Case(program, VECTORS), partition)
    assert len(changed.subgraphs) == 3
