"""The VM host: the control flow itself as a module of IREE's VM.

``main.mlir`` is one module ``@main``. For each entry it has a function of that name: the inputs of the entry as buffer
views, ``i64`` (also for bools) and ``f64``, in order; the results as ``hostgen.vm.results`` says, described by the
function's reflection attribute ``signature`` (a ``runtime_py.format.VmResult`` as JSON). State lives in the module's
globals; ``reset()`` sets it back. An exception ends the call with a status that says ``Type: text [file:line]``.

The module imports ``instance_<number>.main`` for each of ``toolchain.ir.instances(program)``, and reads weights from
the bundle's archive, under the scope "model" and the keys of ``toolchain.bundle.params``.

``traced.mlir`` is the same, and records the decisions of a call: ``path()`` gives the number of the function in
``program.functions``, then two numbers for each decision, the block and whether its condition held.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

import jinja2
import msgspec

from hostgen.vm.emitter import Context, emit_function, state_name
from hostgen.vm.entries import emit_entry, function_name
from hostgen.vm.library import library_for, weight_function
from hostgen.vm.results import lay_out
from hostgen.vm.script import run_script
from hostgen.vm.types import CROSSING, Inexpressible, kind_of, literal, quoted
from runtime_py.integrity import OpenBundle
from toolchain.bundle.params import content_key
from toolchain.diagnostics import UnsupportedModelError
from toolchain.ir import UNKNOWN_LOCATION, Constant, Function, Location, Program, Raise, Return

MAIN, TRACED = "main.mlir", "traced.mlir"


def generate(program: Program) -> Mapping[str, str]:
    """``{"main.mlir": text}`` for a partitioned program.

    Raises ``UnsupportedModelError`` TC171 with everything that the VM cannot express.
    """
    return {MAIN: emit_module(program)}


def complete(program: Program, bundle: OpenBundle) -> Mapping[str, str]:
    """``{"run.sh": text}``."""
    return {"run.sh": run_script(bundle)}


def emit_module(program: Program, traced: bool = False) -> str:
    """The text of ``main.mlir``, or of ``traced.mlir``. Raises as ``generate``."""
    context = Context(program, traced)
    functions = list(_functions(context))
    slots = list(_slots(context))
    if context.problems:
        raise UnsupportedModelError(list(dict.fromkeys(context.problems)))
    weights = [
        weight_function(f, content_key(program.constants[n]), program.constant_type(n))
        for n, f in context.weights.items()
    ]
    text = _template().render(
        name=program.name,
        imports=[context.imports[number] for number in sorted(context.imports)],
        weights=weights,
        slots=slots,
        many_states=len(program.states) > 1,
        traced=traced,
        functions=functions,
        failures=[(name, quoted(message)) for message, name in context.failures.items()],
    )
    head, _, tail = text.rpartition("}")
    return f"{head}\n{library_for(text)}\n}}\n{tail.lstrip()}"


def _functions(context: Context) -> Iterator[str]:
    program = context.program
    for index, entry in enumerate(program.entries):
        functions = [f for f in program.functions if f.entry == index]
        try:
            terminators = [b.terminator for f in functions for b in f.blocks]
            layout = lay_out(t for t in terminators if isinstance(t, (Return, Raise)))
            for function in functions:
                yield emit_function(context, function, function_name(entry, function.state), layout)
            reflection = msgspec.json.encode(_compact(msgspec.to_builtins(layout.described))).decode()
            yield emit_entry(program, index, layout, reflection, context.traced)
        except Inexpressible as problem:
            context.report(problem, _first_location(functions))


def _compact(tree: object) -> object:
    """``tree`` without what is empty: that is the default of every field."""
    if isinstance(tree, dict):
        return {key: _compact(value) for key, value in tree.items() if value not in ("", None) and value != ()}
    return [_compact(value) for value in tree] if isinstance(tree, (list, tuple)) else tree


def _first_location(functions: list[Function]) -> Location:
    nodes = (n for f in functions for b in f.blocks for n in (*b.operations, b.terminator))
    return next((n.location for n in nodes if n.location != UNKNOWN_LOCATION), UNKNOWN_LOCATION)


def _slots(context: Context) -> Iterator[tuple[str, str, str]]:
    """(name, type, what makes the first value) of each global that holds state; the last is empty if nothing does."""
    program = context.program
    for state, described in enumerate(program.states):
        for index, slot in enumerate(described.slots):
            try:
                kind = kind_of(slot.type)
            except Inexpressible as problem:
                context.report(Inexpressible(f"the state {slot.name}, {problem.what}"), UNKNOWN_LOCATION)
                continue
            first = _first_value(context, index) if state == 0 else ""
            yield state_name(state, index), CROSSING[kind], first


def _first_value(context: Context, index: int) -> str:
    value = context.program.initial_state[index]
    if isinstance(value, Constant):
        function = context.weights.setdefault(value.name, f"weight{len(context.weights)}")
        return f"util.call @{function}() : () -> !hal.buffer_view"
    assert isinstance(value, (bool, int, float))
    return f"arith.constant {literal(int(value) if isinstance(value, bool) else value)}"


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hostgen"), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template("vm/main.mlir.j2")
