from __future__ import annotations

from tests.ir.programs import V, carried_state, counted_loop, make_program, straight
from toolchain.ir import Leaf, Location, Mapping, Object, Sequence
from toolchain.ir.builder import FunctionBuilder
from toolchain.ir.printer import print_program, print_structure
from toolchain.passes.partition import partition

COUNTED = """\
program counted_loop
entry forward ((%0, %1), ())
  input x0: tensor<4xfloat32>
  input x1: int

func counted_loop entry 0 state 0 {
^0(%0: tensor<4xfloat32>, %1: int):
  jump ^1(%0, 0)
^1(%2: tensor<4xfloat32>, %3: int) loop:
  %4: bool = host.lt(%3, %1)
  branch %4, ^2(), ^3()
^2():
  %5: tensor<4xfloat32> = aten.mul.Tensor(%2, 0.5)
  %6: tensor<4xfloat32> = aten.add.Tensor(%5, %3)
  %7: int = host.add(%3, 1)
  jump ^1(%6, %7)
^3():
  return (%2, %3)
}
"""


def test_text_of_a_loop() -> None:
    assert print_program(counted_loop().program) == COUNTED


def test_calls_name_their_weights() -> None:
    text = print_program(partition(straight().program))
    assert "  %2: tensor<4xfloat32> = call sg0(%0) weights(@bias)\n" in text
    assert "subgraph sg0(%0: tensor<4xfloat32>) weights(@bias: tensor<4xfloat32>) {\n" in text


def test_states_and_endings() -> None:
    text = print_program(carried_state().program)
    assert "state 0\n  literal total = None\nstate 1\n  slot calls: int\n  slot total: tensor<4xfloat32>\n" in text
    assert "  raise ValueError(%7) state 1(%0, %3)\n" in text
    assert "  return %3 state 1(%8, %3) mutated(0: %3)\n" in text


def test_locations_on_request() -> None:
    f = FunctionBuilder("located")
    entry = f.block(V)
    entry.location = Location("model.py", 12)
    entry.return_(Leaf(entry.tensor("aten.neg.default", entry.parameters[0])))
    program = make_program(f.build())
    assert "loc(" not in print_program(program)
    assert "aten.neg.default(%0)  loc(model.py:12)\n" in print_program(program, locations=True)


def test_every_kind_of_structure() -> None:
    pair = Sequence("list", (Leaf(1), Leaf("a")))
    tree = Mapping(("x", 2), (pair, Object("dataclass", "lib", "Out", ("y",), (Sequence("size", (Leaf(3),)),))))
    assert print_structure(tree) == "{'x': [1, 'a'], 2: dataclass lib:Out(y=<3>)}"
