"""The functions that callers of the VM host see: one for each entry, which checks its inputs and knows the state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hostgen.vm.emitter import state_name
from hostgen.vm.results import Layout
from hostgen.vm.types import CROSSING, VIEW, kind_of, quoted, view_type
from toolchain.ir import EntryPoint, InputDim, InputLeaf, Program, TensorType


def function_name(entry: EntryPoint, state: int) -> str:
    """The function that runs ``entry`` in one state."""
    return f"{entry.name}_in_state{state}"


def emit_entry(program: Program, index: int, layout: Layout, reflection: str, traced: bool) -> str:
    """``util.func public @<entry>(inputs) -> results``."""
    entry = program.entries[index]
    inputs = [(f"%input{i}", CROSSING[kind_of(leaf.type)]) for i, leaf in enumerate(entry.inputs)]
    parameters = ", ".join(f"{name}: {kind}" for name, kind in inputs)
    results = ", ".join(layout.types)
    attributes = f"attributes {{iree.reflection = {{signature = {quoted(reflection)}}}}}"
    lines = [f"util.func public @{entry.name}({parameters}) -> ({results}) {attributes} {{"]
    for leaf, (name, _) in zip(entry.inputs, inputs, strict=True):
        lines += [f"  {line}" for line in _checks(leaf, name)]
    functions = [(number, f.state) for number, f in enumerate(program.functions) if f.entry == index]
    if len(program.states) > 1:
        lines.append("  %state = util.global.load @state : i64")
    for number, state in functions[:-1]:
        lines += _if_in(state)
        lines += [f"  {line}" for line in _run(program, entry, number, state, inputs, layout, traced)]
        lines.append(f"^not{state}:")
    number, state = functions[-1]
    if len(program.states) > 1:
        lines += _only_in(entry, state)
    lines += [f"  {line}" for line in _run(program, entry, number, state, inputs, layout, traced)]
    return "\n".join([*lines, "}"])


def _if_in(state: int) -> Iterator[str]:
    yield f"  %number{state} = arith.constant {state} : i64"
    yield f"  %is{state} = arith.cmpi eq, %state, %number{state} : i64"
    yield f"  cf.cond_br %is{state}, ^in{state}, ^not{state}"
    yield f"^in{state}:"


def _only_in(entry: EntryPoint, state: int) -> Iterator[str]:
    yield f"  %number{state} = arith.constant {state} : i64"
    yield f"  %is{state} = arith.cmpi eq, %state, %number{state} : i64"
    text = f"[RT106] there is no function for {entry.name} in this state"
    yield f"  cf.assert %is{state}, {quoted(text)}"


def _run(
    program: Program,
    entry: EntryPoint,
    number: int,
    state: int,
    inputs: Sequence[tuple[str, str]],
    layout: Layout,
    traced: bool,
) -> Iterator[str]:
    if traced:
        yield f"%function{state} = arith.constant {number} : i64"
        yield f"util.call @begin_path(%function{state}) : (i64) -> ()"
    slots = [(f"%{state_name(state, i)}", CROSSING[kind_of(s.type)]) for i, s in enumerate(program.states[state].slots)]
    for name, kind in slots:
        yield f"{name} = util.global.load @{name[1:]} : {kind}"
    names, types = ", ".join(n for n, _ in (*slots, *inputs)), ", ".join(t for _, t in (*slots, *inputs))
    results = [f"%result{state}_{i}" for i in range(len(layout.types))]
    gives = ", ".join(layout.types)
    yield (
        f"{', '.join(results)}{' = ' if results else ''}"
        f"util.call @{function_name(entry, state)}({names}) : ({types}) -> ({gives})"
    )
    yield f"util.return {', '.join(results)} : {gives}" if results else "util.return"


def _checks(leaf: InputLeaf, name: str) -> Iterator[str]:
    """What keeps an input out that no example was like; codes and wording follow the Python host."""
    if not isinstance(leaf.type, TensorType):
        return
    yield from _check_rank(leaf, name, leaf.type.rank)
    yield from _check_dtype(leaf, name, leaf.type.dtype)
    for index, dim in enumerate(leaf.dims or ()):
        yield from _check_dim(leaf, name, index, dim)


def _check_rank(leaf: InputLeaf, name: str, rank: int) -> Iterator[str]:
    yield f"{name}_rank = hal.buffer_view.rank<{name} : {VIEW}> : index"
    yield f"{name}_expected = arith.constant {rank} : index"
    yield f"{name}_ranked = arith.cmpi eq, {name}_rank, {name}_expected : index"
    yield f"cf.assert {name}_ranked, {quoted(f'[RT203] {leaf.name}: expected {rank} dimensions')}"


def _check_dtype(leaf: InputLeaf, name: str, dtype: str) -> Iterator[str]:
    view = view_type(dtype)
    # Some callers mark integers as signed, some not at all.
    marks = [view, f"s{view}"] if dtype.startswith("int") else [view]
    yield f"{name}_type = hal.buffer_view.element_type<{name} : {VIEW}> : i32"
    for number, mark in enumerate(marks):
        yield f"{name}_mark{number} = hal.element_type<{mark}> : i32"
        yield f"{name}_typed{number} = arith.cmpi eq, {name}_type, {name}_mark{number} : i32"
    fine = f"{name}_typed0"
    if len(marks) > 1:
        fine = f"{name}_typed"
        yield f"{fine} = arith.ori {name}_typed0, {name}_typed1 : i1"
    yield f"cf.assert {fine}, {quoted(f'[RT202] {leaf.name}: expected {dtype}')}"


def _check_dim(leaf: InputLeaf, name: str, index: int, dim: InputDim) -> Iterator[str]:
    extent = f"{name}_{index}"
    bounds = [("eq", dim.size)] if dim.size is not None else [("uge", dim.minimum), ("ule", dim.maximum)]
    yield f"{extent} = hal.buffer_view.dim<{name} : {VIEW}>[{index}] : index"
    for order, bound in bounds:
        if bound is not None:
            words = {"eq": "", "uge": "at least ", "ule": "at most "}[order]
            text = f"[RT203] {leaf.name}: expected extent {words}{bound} in dimension {index}"
            yield f"{extent}_{order}_bound = arith.constant {bound} : index"
            yield f"{extent}_{order} = arith.cmpi {order}, {extent}, {extent}_{order}_bound : index"
            yield f"cf.assert {extent}_{order}, {quoted(text)}"
