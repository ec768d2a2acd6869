from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lowering.support import op, scalar, subgraph, tensor
from toolchain.ir import Constant, Location, Subgraph, TensorType
from toolchain.lowering import canonical_text

FLOAT32 = TensorType("float32", (4, 4))


def _linear(first: int, weight: str, *, number: object = 1.0, line: int = 3) -> Subgraph:
    x, y, z = (tensor(first + i, "float32", None, 4) for i in range(3))
    w = Constant(weight, FLOAT32)
    operations = (op("mm.default", (x, w), y), op("add.Scalar", (y, number), z))
    moved = [dataclasses.replace(o, location=Location("net.py", line)) for o in operations]
    return subgraph([x], moved, [w])


def test_text_is_readable() -> None:
    assert canonical_text(_linear(7, "layer.weight")) == (
        "(%0: tensor<?x4xfloat32>, @w0: tensor<4x4xfloat32>)\n"
        "%1 = aten.mm.default(%0, @w0)\n"
        "%2 = aten.add.Scalar(%1, 1.0)\n"
        "return %2\n"
    )


@given(st.integers(0, 10**6), st.text(min_size=1), st.integers(1, 10**4))
def test_numbers_names_and_lines_do_not_matter(first: int, weight: str, line: int) -> None:
    assert canonical_text(_linear(first, weight, line=line)) == canonical_text(_linear(0, "w"))


@pytest.mark.parametrize("number", [1, True, 2.0, -0.0, 0.0, math.nan, math.inf, scalar(50, "int")])
def test_literals_matter(number: object) -> None:
    graph = _linear(0, "w")
    other = _linear(0, "w", number=number if not hasattr(number, "type") else graph.parameters[0])
    assert canonical_text(other) != canonical_text(graph)


def test_weight_shape_and_keyword_order() -> None:
    x, y = tensor(0, "float32", 4), tensor(1, "float32", 4)
    one = subgraph([x], [op("add.Tensor", (x, x), y, alpha=2, beta=3)])
    two = subgraph([x], [op("add.Tensor", (x, x), y, beta=3, alpha=2)])
    assert canonical_text(one) == canonical_text(two)
    wide = dataclasses.replace(_linear(0, "w"), weights=(Constant("w", TensorType("float32", (4, 5))),))
    assert canonical_text(wide) != canonical_text(_linear(0, "w"))
