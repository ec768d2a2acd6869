"""Tables of operations, each compiled alone and compared with PyTorch on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lowering import cases, hard_values, sizes
from tests.lowering.scalars import SCALAR_CASES, ScalarCase
from tests.lowering.support import Case, Runner, assert_equal, check, record
from toolchain.lowering import Target, compile_subgraphs

# Compiled in the fast run too: a few of each table.
_FAST = frozenset(
    {
        "cases.boolean_mask",
        "cases.bytes_unsigned",
        "cases.linear",
        "cases.weights_of_every_kind",
        "hard_values.argmax",
        "hard_values.clamp",
        "hard_values.sort",
        "sizes.matmul",
        "sizes.nonzero",
    }
)
_TABLES = {"cases": cases.CASES, "hard_values": hard_values.CASES, "sizes": sizes.CASES}


def _parameters() -> list[Any]:
    named = {f"{table}.{name}": case for table, content in _TABLES.items() for name, case in content.items()}
    return [pytest.param(c, id=n, marks=[] if n in _FAST else [pytest.mark.slow]) for n, c in named.items()]


@pytest.mark.parametrize("case", _parameters())
def test_agrees_with_torch(case: Case, cpu: Target, cache_dir: Path) -> None:
    compiled = compile_subgraphs([record("sub0", case)], [cpu], cache_dir=cache_dir)
    check(case, compiled.modules["sub0", "cpu"])


@pytest.mark.slow
@pytest.mark.parametrize("case", [pytest.param(c, id=n) for n, c in SCALAR_CASES.items()])
def test_scalar_parameters(case: ScalarCase, cpu: Target, cache_dir: Path) -> None:
    """Integers and floats travel as numbers of the VM: as bounds, sizes, positions and operands."""
    module = compile_subgraphs([case.subgraph], [cpu], cache_dir=cache_dir).modules["sub0", "cpu"]
    assert set(module.parameters) <= {"tensor", "i64", "f64"}
    runner = Runner(module)
    for inputs in case.runs:
        for actual, expected in zip(runner(*inputs), case.expected(*inputs), strict=True):
            assert_equal(actual, expected)
