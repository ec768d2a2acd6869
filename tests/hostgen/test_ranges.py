from __future__ import annotations

import torch

from hostgen.ranges import SAFE_BITS, integer_bits
from tests.ir.programs import L, V, counted_loop, nested_loops
from toolchain.ir import BOOL, INT, Leaf, TensorType
from toolchain.ir.builder import FunctionBuilder


def test_counters_are_small() -> None:
    for program in (counted_loop().program, nested_loops().program):
        [function] = program.functions
        bits = integer_bits(function)
        entry = set(function.blocks[0].parameters)
        assert all(found <= SAFE_BITS for value, found in bits.items() if value not in entry)


def test_inputs_and_long_items_may_be_large() -> None:
    f = FunctionBuilder("items")
    entry = f.block(INT, L, TensorType("int32", ()), V)
    n, long, narrow, x = entry.parameters
    values = [n, entry.host("item", long, type=INT), entry.host("item", narrow, type=INT)]
    values.append(entry.host("dim", x, type=INT, attributes=(0,)))
    sums = [entry.host("add", v, 1, type=INT) for v in values]
    entry.return_(Leaf(None))
    bits = integer_bits(f.build())
    assert [bits[s] > SAFE_BITS for s in sums] == [True, True, False, False]
    assert torch.iinfo(torch.int32).bits == bits[sums[2]]


def test_doubling_in_a_loop_is_unbounded() -> None:
    f = FunctionBuilder("doubling")
    entry, head, body, done = f.block(), f.block(INT, INT, INT), f.block(), f.block()
    entry.jump(head, 1, 0, 1)
    double, a, b = head.parameters
    head.branch(head.host("lt", double, 10**6, type=BOOL), (body,), (done,))
    twice = body.host("add", double, double, type=INT)
    total = body.host("add", a, b, type=INT)
    body.jump(head, twice, b, total)
    done.return_(Leaf(double))
    bits = integer_bits(f.build())
    assert bits[twice] > SAFE_BITS
    assert bits[total] > SAFE_BITS


def test_a_counter_that_moves_on_some_ways_only_is_one() -> None:
    f = FunctionBuilder("sometimes")
    entry, head, body, step, join, done = f.block(), f.block(INT), f.block(), f.block(), f.block(INT), f.block()
    entry.jump(head, 0)
    [i] = head.parameters
    head.branch(head.host("lt", i, 9, type=BOOL), (body,), (done,))
    body.branch(body.host("eq", i, 3, type=BOOL), (step,), (join, i))
    step.jump(join, step.host("add", i, 2, type=INT))
    join.jump(head, join.parameters[0])
    done.return_(Leaf(i))
    assert integer_bits(f.build())[i] <= SAFE_BITS
