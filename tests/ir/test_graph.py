from __future__ import annotations

from tests.ir.programs import diamond, early_exits, nested_loops
from toolchain.ir import Function
from toolchain.ir.graph import Cfg


def cfg_of(function: Function) -> Cfg:
    return Cfg(function)


def test_dominators_of_a_diamond() -> None:
    cfg = cfg_of(diamond().program.functions[0])
    assert cfg.order == (0, 1, 2, 3)
    assert cfg.idom == {1: 0, 2: 0, 3: 0}
    assert cfg.dominated_count(0) == 4
    assert cfg.dominates(3, 3)
    assert not cfg.dominates(1, 3)
    assert [source for source, _ in cfg.incoming[3]] == [1, 2]


def test_loops_and_their_blocks() -> None:
    cfg = cfg_of(nested_loops().program.functions[0])
    assert set(cfg.loops) == {1, 3}
    assert cfg.loops[3] < cfg.loops[1]
    assert cfg.irreducible_edges == ()


def test_long_chains_need_no_recursion() -> None:
    cfg = cfg_of(early_exits(2000).program.functions[0])
    assert len(cfg.order) == 4001
    assert cfg.dominates(cfg.entry, cfg.order[-1])
