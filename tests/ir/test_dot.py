from __future__ import annotations

from pathlib import Path

from tests.ir.programs import V, counted_loop, make_program
from toolchain.ir import Leaf, Location
from toolchain.ir.builder import FunctionBuilder
from toolchain.ir.dot import to_dot


def test_edges_are_labelled_and_heads_marked() -> None:
    text = to_dot(counted_loop().program)
    assert 'f0_b1 -> f0_b2 [label="true"];' in text
    assert 'f0_b1 -> f0_b3 [label="false"];' in text
    assert "f0_b2 -> f0_b1;" in text
    assert text.count("peripheries=2") == 1
    assert text.count("{") == text.count("}") == 2


def test_boxes_show_the_users_lines(tmp_path: Path) -> None:
    source = tmp_path / "model.py"
    source.write_text('x = 1\ny = f("quoted")\n')
    f = FunctionBuilder("located")
    entry = f.block(V)
    entry.location = Location(str(source), 2)
    entry.return_(Leaf(entry.tensor("aten.neg.default", entry.parameters[0])))
    text = to_dot(make_program(f.build()))
    assert text.count('# model.py:2  y = f(\\"quoted\\")\\l') == 1
