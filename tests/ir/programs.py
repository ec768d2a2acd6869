"""Small hand-built programs, one per shape of control flow, with inputs that take different paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from toolchain.ir import (
    BOOL,
    FLOAT,
    INT,
    STR,
    Constant,
    EntryPoint,
    Function,
    InputDim,
    InputLeaf,
    Leaf,
    ListType,
    Operand,
    Program,
    Sequence,
    State,
    StateSlot,
    TensorType,
    Type,
    Value,
)
from toolchain.ir.builder import BlockBuilder, FunctionBuilder

V = TensorType("float32", (4,))
S = TensorType("float32", ())
P = TensorType("bool", ())
L = TensorType("int64", ())
VS = ListType(V)

Datum = torch.Tensor | int | float | bool


@dataclass(frozen=True)
class Case:
    """A program, and sequences of calls (the leaves of each) that a fresh instance of it is run on."""

    program: Program
    runs: tuple[tuple[tuple[Datum, ...], ...], ...]


def vector(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


POSITIVE, NEGATIVE, MIXED = vector(1, 2, 3, 4), vector(-1, -2, -3, -4), vector(3, -2, 1, -1)
VECTORS = (((POSITIVE,),), ((NEGATIVE,),), ((MIXED,),))


def make_program(
    *functions: Function,
    inputs: tuple[Type, ...] = (V,),
    constants: dict[str, torch.Tensor] | None = None,
    states: tuple[State, ...] = (State(),),
    initial: tuple[Operand, ...] = (),
) -> Program:
    leaves = tuple(
        InputLeaf(f"x{i}", t, tuple(InputDim(d) for d in t.dims) if isinstance(t, TensorType) else None)
        for i, t in enumerate(inputs)
    )
    arguments = tuple(Leaf(Value(i, t)) for i, t in enumerate(inputs))
    signature = Sequence("tuple", (Sequence("tuple", arguments), Sequence("tuple", ())))
    entry = EntryPoint("forward", signature, leaves)
    return Program(functions[0].name, (entry,), states, initial, functions, constants or {})  # type: ignore[arg-type]


def weight(name: str, type: TensorType = V) -> Constant:
    return Constant(name, type)


def positive(block: BlockBuilder, x: Operand) -> Value:
    """The host bool of ``x.sum() > 0``."""
    total = block.tensor("aten.sum.default", x, type=S)
    return block.host("item", block.tensor("aten.gt.Scalar", total, 0, type=P), type=BOOL)


def straight() -> Case:
    f = FunctionBuilder("straight")
    entry, middle, last = f.block(V), f.block(V), f.block()
    [x] = entry.parameters
    entry.jump(middle, entry.tensor("aten.add.Tensor", x, weight("bias")))
    doubled = middle.tensor("aten.mul.Tensor", middle.parameters[0], 2)
    middle.jump(last)
    copy = last.tensor("aten.clone.default", doubled)
    last.return_(Sequence("tuple", (Leaf(copy), Leaf(doubled), Leaf(x), Leaf(weight("bias")))))
    return Case(make_program(f.build(), constants={"bias": vector(1, 1, 2, 2)}), VECTORS)


def if_else() -> Case:
    f = FunctionBuilder("if_else")
    entry, then, orelse = f.block(V), f.block(), f.block()
    [x] = entry.parameters
    entry.branch(positive(entry, x), (then,), (orelse,))
    then.return_(Leaf(then.tensor("aten.relu.default", x)))
    orelse.return_(Leaf(orelse.tensor("aten.neg.default", x)))
    return Case(make_program(f.build()), VECTORS)


def diamond() -> Case:
    """Both sides compute a tensor and a number; one value is the same on both."""
    f = FunctionBuilder("diamond")
    entry, then, orelse, join = f.block(V), f.block(), f.block(), f.block(V, INT, V)
    [x] = entry.parameters
    entry.branch(positive(entry, x), (then,), (orelse,))
    then.jump(join, then.tensor("aten.relu.default", x), 1, x)
    orelse.jump(join, orelse.tensor("aten.neg.default", x), 2, x)
    y, n, same = join.parameters
    scaled = join.tensor("aten.mul.Tensor", y, n)
    join.return_(Sequence("list", (Leaf(join.tensor("aten.add.Tensor", scaled, same)), Leaf(n))))
    return Case(make_program(f.build()), VECTORS)


def gates(count: int = 3) -> Case:
    """A policy computed first decides which of the blocks run; the predicates are read one by one."""
    f = FunctionBuilder("gates")
    block = f.block(V)
    [x] = block.parameters
    policy = block.tensor("aten.gt.Tensor", x, weight("threshold"), type=TensorType("bool", (4,)))
    for i in range(count):
        chosen = block.tensor("aten.select.int", policy, 0, i % 4, type=P)
        taken, join = f.block(), f.block(V)
        block.branch(block.host("item", chosen, type=BOOL), (taken,), (join, x))
        taken.jump(join, taken.tensor("aten.add.Tensor", x, weight(f"w{i}")))
        block, x = join, join.parameters[0]
    block.return_(Leaf(x))
    constants = {f"w{i}": torch.full((4,), float(i)) for i in range(count)} | {"threshold": vector(0, 0, 0, 0)}
    return Case(make_program(f.build(), constants=constants), VECTORS)


def early_exits(count: int = 3) -> Case:
    f = FunctionBuilder("early_exits")
    block = f.block(V)
    [x] = block.parameters
    for i in range(count):
        x = block.tensor("aten.add.Tensor", x, weight(f"w{i}"))
        leave, onward = f.block(), f.block()
        block.branch(positive(block, x), (leave,), (onward,))
        leave.return_(Sequence("tuple", (Leaf(x), Leaf(i))))
        block = onward
    block.return_(Sequence("tuple", (Leaf(x), Leaf(None))))
    constants = {f"w{i}": torch.full((4,), float(i)) for i in range(count)}
    return Case(make_program(f.build(), constants=constants), VECTORS)


def counted_loop() -> Case:
    """``for i in range(n): x = x * 0.5 + i``, with n an input."""
    f = FunctionBuilder("counted_loop")
    entry, head, body, done = f.block(V, INT), f.block(V, INT), f.block(), f.block()
    x0, n = entry.parameters
    entry.jump(head, x0, 0)
    x, i = head.parameters
    head.branch(head.host("lt", i, n, type=BOOL), (body,), (done,))
    halved = body.tensor("aten.mul.Tensor", x, 0.5)
    body.jump(head, body.tensor("aten.add.Tensor", halved, i), body.host("add", i, 1, type=INT))
    done.return_(Sequence("tuple", (Leaf(x), Leaf(i))))
    return Case(make_program(f.build(), inputs=(V, INT)), (((POSITIVE, 0),), ((MIXED, 3),)))


def while_tensor() -> Case:
    """``while x.norm() > 1: x = x * 0.5``, whose test reads the loop's own parameter."""
    f = FunctionBuilder("while_tensor")
    entry, head, body, done = f.block(V), f.block(V, INT), f.block(), f.block()
    entry.jump(head, entry.tensor("aten.mul.Tensor", entry.parameters[0], 3), 0)
    x, steps = head.parameters
    norm = head.tensor("aten.linalg_vector_norm.default", x, type=S)
    above = head.tensor("aten.gt.Scalar", norm, 1, type=P)
    head.branch(head.host("item", above, type=BOOL), (body,), (done,))
    body.jump(head, body.tensor("aten.mul.Tensor", x, 0.5), body.host("add", steps, 1, type=INT))
    done.return_(Sequence("tuple", (Leaf(x), Leaf(steps))))
    return Case(make_program(f.build()), (*VECTORS, ((vector(0, 0, 0, 0),),)))


def nested_loops() -> Case:
    """Two loops with a break out of the inner, a continue of the outer and a return from inside."""
    f = FunctionBuilder("nested_loops")
    entry = f.block(V)
    outer, body = f.block(V, INT), f.block()
    inner, inner_body, step = f.block(V, INT), f.block(), f.block()
    skip, found, after, done = f.block(), f.block(), f.block(V, STR), f.block()
    entry.jump(outer, entry.parameters[0], 0)
    x, i = outer.parameters
    outer.branch(outer.host("lt", i, 4, type=BOOL), (body,), (done,))
    body.jump(inner, body.tensor("aten.sub.Tensor", x, 1), 0)
    y, j = inner.parameters
    inner.branch(inner.host("lt", j, 3, type=BOOL), (inner_body,), (after, y, "exhausted"))
    z = inner_body.tensor("aten.mul.Tensor", y, 1.5)
    inner_body.branch(positive(inner_body, z), (skip,), (step,))
    odd = skip.host("mod", j, 2, type=INT)
    is_odd = skip.host("eq", odd, 1, type=BOOL)
    skip.branch(is_odd, (outer, z, skip.host("add", i, 1, type=INT)), (after, z, "broken"))
    total = step.host("item", step.tensor("aten.sum.default", z, type=S), type=FLOAT)
    more = f.block()
    step.branch(step.host("lt", total, -80.0, type=BOOL), (found,), (more,))
    more.jump(inner, z, more.host("add", j, 1, type=INT))
    found.return_(Sequence("tuple", (Leaf(z), Leaf(i), Leaf("found"))))
    w, how = after.parameters
    after.effect("print", how, attributes=("\n",))
    after.jump(outer, after.tensor("aten.add.Tensor", w, 2), after.host("add", i, 2, type=INT))
    done.return_(Sequence("tuple", (Leaf(x), Leaf(i), Leaf("done"))))
    return Case(make_program(f.build()), (*VECTORS, ((vector(0.5, 0, 0, 0),),), ((NEGATIVE * 4,),)))


def short_circuit() -> Case:
    """``if a and b: ... else: ...``: the else side has two ways in."""
    f = FunctionBuilder("short_circuit")
    entry, second, then, orelse, join = f.block(V), f.block(), f.block(), f.block(), f.block(V)
    [x] = entry.parameters
    entry.branch(positive(entry, x), (second,), (orelse,))
    second.branch(positive(second, second.tensor("aten.sub.Tensor", x, 1)), (then,), (orelse,))
    then.jump(join, then.tensor("aten.relu.default", x))
    orelse.jump(join, orelse.tensor("aten.neg.default", x))
    join.return_(Leaf(join.tensor("aten.add.Tensor", join.parameters[0], 1)))
    return Case(make_program(f.build()), (*VECTORS, ((vector(0.5, 0, 0, 0),),)))


def accumulate() -> Case:
    """Collects one tensor and its sum per step in host lists, then stacks."""
    f = FunctionBuilder("accumulate")
    pairs = ListType(FLOAT)
    entry, head, body, done = f.block(V, INT), f.block(V, INT, VS, pairs), f.block(), f.block()
    x0, n = entry.parameters
    empty = entry.host("list", type=VS, attributes=(0,))
    none = entry.host("list", type=pairs, attributes=(0,))
    entry.jump(head, x0, 0, empty, none)
    x, i, xs, sums = head.parameters
    head.branch(head.host("lt", i, n, type=BOOL), (body,), (done,))
    y = body.tensor("aten.add.Tensor", x, i)
    total = body.host("item", body.tensor("aten.sum.default", y, type=S), type=FLOAT)
    grown = body.host("list_append", xs, y, type=VS)
    body.jump(
        head,
        y,
        body.host("add", i, 1, type=INT),
        grown,
        body.host("list_append", sums, total, type=pairs),
    )
    length = done.host("list_len", xs, type=INT)
    done.effect("check", done.host("gt", length, 0, type=BOOL), attributes=("ValueError", "nothing to stack"))
    stacked = done.host("list_stack", xs, type=TensorType("float32", (None, 4)))
    mean = done.tensor("aten.mean.dim", stacked, (0,), type=V)
    text = done.host("format", length, attributes=((("n=", (0, "", "03d"))),), type=STR)
    done.return_(Sequence("tuple", (Leaf(mean), Leaf(sums), Leaf(xs), Leaf(text))))
    runs = (((POSITIVE, 3),), ((MIXED, 1),), ((MIXED, 0),))
    return Case(make_program(f.build(), inputs=(V, INT)), runs)


def swap() -> Case:
    """``a, b = b, a + b`` in a loop: the edge must copy in parallel."""
    f = FunctionBuilder("swap")
    entry, head, body, done = f.block(V, V, INT), f.block(V, V, INT), f.block(), f.block()
    a0, b0, n = entry.parameters
    entry.jump(head, a0, b0, n)
    a, b, i = head.parameters
    head.branch(head.host("gt", i, 0, type=BOOL), (body,), (done,))
    c = body.tensor("aten.add.Tensor", a, b)
    body.branch(positive(body, c), (head, b, a, body.host("sub", i, 1, type=INT)), (head, b, c, 0))
    done.return_(Sequence("tuple", (Leaf(a), Leaf(b))))
    runs = (((POSITIVE, MIXED, 3),), ((NEGATIVE, MIXED, 2),), ((POSITIVE, MIXED, 0),))
    return Case(make_program(f.build(), inputs=(V, V, INT)), runs)


def carried_state() -> Case:
    """A counter and a running sum; a second state once the counter has been used; a raise that keeps its change."""
    slots = (StateSlot("calls", INT), StateSlot("total", V))
    states = (State((), (("total", None),)), State(slots))
    first = FunctionBuilder("first_call")
    entry = first.block(V)
    [x] = entry.parameters
    entry.return_(Leaf(x), state=(1, x), next_state=1)
    later = FunctionBuilder("later_call", state=1)
    entry, fail, fine = later.block(INT, V, V), later.block(), later.block()
    calls, total, x = entry.parameters
    total = entry.tensor("aten.add.Tensor", total, x)
    entry.branch(positive(entry, total), (fine,), (fail,))
    text = fail.host("str", calls, type=STR)
    fail.raise_("ValueError", text, state=(calls, total), next_state=1)
    following = fine.host("add", calls, 1, type=INT)
    fine.return_(Leaf(total), state=(following, total), next_state=1, mutated=((0, total),))
    runs = (((POSITIVE,), (POSITIVE,), (MIXED,)), ((MIXED,), (NEGATIVE,), (POSITIVE,), (POSITIVE,)))
    return Case(make_program(first.build(), later.build(), states=states), runs)


def checks() -> Case:
    """Checks in front of an index; the failing one decides the exception. Scalars read from tensors index a tensor."""
    f = FunctionBuilder("checks")
    entry = f.block(V, L)
    x, index = entry.parameters
    i = entry.host("item", index, type=INT)
    entry.effect("check", entry.host("ge", i, 0, type=BOOL), attributes=("IndexError", "too small"))
    entry.effect("check", entry.host("lt", i, 4, type=BOOL), attributes=("IndexError", "too large"))
    total = entry.host("item", entry.tensor("aten.sum.default", x, type=S), type=FLOAT)
    root = entry.host("sqrt", total, type=FLOAT)
    chosen = entry.tensor("aten.select.int", x, 0, i, type=S)
    result = entry.tensor("aten.mul.Tensor", chosen, root, type=S)
    entry.return_(Sequence("tuple", (Leaf(result), Leaf(root))))
    indices = [torch.tensor(i) for i in (0, 3, 4, -1)]
    runs = tuple(((x, i),) for x in (POSITIVE, NEGATIVE) for i in indices)
    return Case(make_program(f.build(), inputs=(V, L)), runs)


def multiple_results() -> Case:
    """topk and split; one result of each is not used; a weight-only value is returned."""
    f = FunctionBuilder("multiple_results")
    entry, then, join = f.block(V), f.block(), f.block(TensorType("float32", (2,)))
    [x] = entry.parameters
    two, two_indices = TensorType("float32", (2,)), TensorType("int64", (2,))
    top, _ = entry.tensors("aten.topk.default", x, 2, types=(two, two_indices))
    left, _ = entry.tensors("aten.split.Tensor", x, 2, types=(two, two))
    zeros = entry.tensor("aten.zeros.default", (2,), type=two)
    entry.branch(positive(entry, x), (then,), (join, zeros))
    then.jump(join, then.tensor("aten.add.Tensor", top, left, type=two))
    joined = join.tensor("aten.cat.default", (join.parameters[0], zeros), type=V)
    join.return_(Sequence("tuple", (Leaf(joined), Leaf(joined), Leaf(zeros))))
    return Case(make_program(f.build()), VECTORS)


CASES: dict[str, Callable[[], Case]] = {
    make.__name__: make
    for make in (
        straight,
        if_else,
        diamond,
        gates,
        early_exits,
        counted_loop,
        while_tensor,
        nested_loops,
        short_circuit,
        accumulate,
        swap,
        carried_state,
        checks,
        multiple_results,
    )
}
