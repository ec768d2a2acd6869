"""A program as a C++ class: entries as methods, states and results as types, functions as private members."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hostgen.cpp.emitter import CppFunction, emit_function
from hostgen.cpp.literals import literal, quoted
from hostgen.cpp.names import RESERVED
from hostgen.cpp.results import Output, ResultTypes, Struct
from hostgen.cpp.types import cpp_dtype, cpp_type
from hostgen.names import distinct_names
from toolchain.ir import (
    BOOL,
    FLOAT,
    INT,
    Constant,
    EntryPoint,
    Function,
    InputDim,
    InputLeaf,
    Leaf,
    Mapping,
    Object,
    Operand,
    Program,
    Return,
    Structure,
    TensorType,
    Type,
    UserFunction,
    Value,
    operands_of,
    user_functions,
)


@dataclass(frozen=True, slots=True)
class Input:
    """A parameter of an entry's method.

    declaration: as the method declares it. argument: what the method passes on: a tensor on the device, or the scalar.
    info, dims: initialisers of what a tensor must be; empty for a scalar. recorded: the argument in ``main.cpp``.
    """

    name: str
    declaration: str
    argument: str
    info: str
    dims: str
    recorded: str


@dataclass(frozen=True, slots=True)
class Run:
    """The function of an entry in one state, and the method's call of it."""

    function: CppFunction
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """method: its name. python: how the user's program is called."""

    method: str
    python: str
    inputs: tuple[Input, ...]
    output: Output
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """A member of a state: a buffer or attribute of the user's module."""

    type: str
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class StateType:
    """What calls may leave behind. fixed: comments on attributes that have one value in this state."""

    name: str
    slots: tuple[Slot, ...]
    fixed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostCall:
    """A function that the embedding program supplies: a member of the struct ``HostCalls``.

    type: of the member. function: its name in the bundle. described: how the user's program calls it.
    """

    type: str
    name: str
    function: str
    described: str


@dataclass(frozen=True, slots=True)
class CppProgram:
    """Everything that the templates print.

    state: the type of the member that holds the state; empty if there is none.
    constants: names of the weights that host code reads, in the order in which it numbers them.
    host_calls: what the embedding program supplies.
    """

    name: str
    entries: tuple[Entry, ...]
    structs: tuple[Struct, ...]
    states: tuple[StateType, ...]
    state: str
    initial: str
    constants: tuple[str, ...]
    copies_inputs: bool
    host_calls: tuple[HostCall, ...]


def class_name(program: Program) -> str:
    """The name of the generated class, after the user's; files have it, too."""
    return distinct_names([program.name], RESERVED)[0]


def host_constants(program: Program) -> tuple[str, ...]:
    """Names of the weights that host code reads or the state starts with, in order of first use."""
    nodes = (n for f in program.functions for b in f.blocks for n in (*b.operations, b.terminator))
    found = [o.name for n in nodes for o in operands_of(n) if isinstance(o, Constant)]
    found += [value.name for value in program.initial_state if isinstance(value, Constant)]
    return tuple(dict.fromkeys(found))


def describe_program(program: Program) -> CppProgram:
    name = class_name(program)
    states = tuple(_state(program, i) for i in range(len(program.states)))
    describer = _Describer(program, name, states)
    entries = tuple(describer.entries())
    return CppProgram(
        name=name,
        entries=entries,
        structs=describer.structs,
        states=states,
        state=_state_type(states),
        initial=f"{states[0].name}{{{', '.join(map(describer.initial, program.initial_state))}}}",
        constants=host_constants(program),
        copies_inputs=any(state.slots for state in states),
        host_calls=tuple(_host_call(f, member) for f, member in describer.host_calls.items()),
    )


class _Describer:
    def __init__(self, program: Program, name: str, states: tuple[StateType, ...]) -> None:
        self._program = program
        self._states = states
        self._constants = {n: i for i, n in enumerate(host_constants(program))}
        # Members of a class cannot have its name.
        self._taken = RESERVED | {name} | {state.name for state in states}
        self._results = ResultTypes(self._new_name)
        functions = user_functions(program)
        wishes = [f.name.rpartition(":")[2].rpartition(".")[2] for f in functions]
        self.host_calls = dict(zip(functions, distinct_names(wishes, RESERVED), strict=True))

    @property
    def structs(self) -> tuple[Struct, ...]:
        return self._results.structs

    def _new_name(self, wish: str) -> str:
        [name] = distinct_names([wish], self._taken)
        self._taken |= {name}
        return name

    def initial(self, value: Operand) -> str:
        return self._constant(value) if isinstance(value, Constant) else literal(value)

    def _constant(self, constant: Constant) -> str:
        return f"session_.constant({self._constants[constant.name]})"

    def entries(self) -> Iterator[Entry]:
        is_single = len(self._program.entries) == 1
        for index, entry in enumerate(self._program.entries):
            method = "operator()" if is_single else self._new_name(entry.name)
            yield self._entry(index, entry, method, "Output" if is_single else self._new_name(f"Output{index}"))

    def _entry(self, index: int, entry: EntryPoint, method: str, output: str) -> Entry:
        functions = [f for f in self._program.functions if f.entry == index]
        ends = [b.terminator for f in functions for b in f.blocks]
        result = Output(output, self._results.of([end.result for end in ends if isinstance(end, Return)]))
        runs = [self._run(f, result) for f in functions]
        changed = {i for run in runs for i in run.changed}
        inputs = tuple(_inputs(entry, changed))
        called = tuple(Run(f, self._arguments(f, inputs)) for f in runs)
        return Entry(method, _python(entry), inputs, result, called)

    def _run(self, function: Function, result: Output) -> CppFunction:
        name = self._new_name(f"run_{function.name}")
        return emit_function(self._program, function, name, result, self._constant, self.host_calls)

    def _arguments(self, function: CppFunction, inputs: tuple[Input, ...]) -> tuple[str, ...]:
        state = "state_." if len(self._states) == 1 else f"std::get_if<{function.state}>(&state_)->"
        slots = (f"{state}{slot.name}" for slot in self._states[function.state].slots)
        return (*slots, *(i.argument for i in inputs), *(inputs[i].name for i in function.changed))


def _inputs(entry: EntryPoint, changed: set[int]) -> Iterator[Input]:
    ours = frozenset(f"tensor_{i}" for i in range(len(entry.inputs)))
    names = distinct_names([leaf.name for leaf in entry.inputs], RESERVED | ours)
    for index, (leaf, name) in enumerate(zip(entry.inputs, names, strict=True)):
        declaration = f"{_parameter_type(leaf, index in changed)} {name}"
        if isinstance(leaf.type, TensorType):
            info = f"{quoted(leaf.name)}, {cpp_dtype(leaf.type.dtype)}"
            view = f"arguments.{'mutable_view' if index in changed else 'view'}({index})"
            yield Input(name, declaration, f"tensor_{index}", info, ", ".join(map(_dim, leaf.dims or ())), view)
        else:
            yield Input(name, declaration, name, "", "", f"arguments.scalar<{cpp_type(leaf.type)}>({index})")


def _parameter_type(leaf: InputLeaf, is_changed: bool) -> str:
    if isinstance(leaf.type, TensorType):
        return "const toolchain::MutableTensorView&" if is_changed else "const toolchain::TensorView&"
    return cpp_type(leaf.type)


def _dim(dim: InputDim) -> str:
    if dim.size is not None:
        return f"{{{dim.size}, {dim.size}}}"
    return f"{{{dim.minimum}, {-1 if dim.maximum is None else dim.maximum}}}"


def _python(entry: EntryPoint) -> str:
    """The call in Python, with inputs as name: type."""
    texts = {i: f"{leaf.name}: {_input_type(leaf)}" for i, leaf in enumerate(entry.inputs)}
    numbers = iter(range(len(entry.inputs)))

    def shown(tree: Structure) -> str:
        match tree:
            case Leaf(operand=Value()):
                return texts[next(numbers)]
            case Leaf(operand=operand):
                return repr(operand)
            case Mapping():
                return f"{{{', '.join(f'{k!r}: {shown(i)}' for k, i in zip(tree.keys, tree.items, strict=True))}}}"
            case Object():
                pairs = zip(tree.fields, tree.items, strict=True)
                return f"{tree.qualname}({', '.join(f'{k}={shown(i)}' for k, i in pairs)})"
            case _:
                brackets = {"list": "[]", "set": "{}"}.get(tree.kind, "()")
                return brackets[0] + ", ".join(map(shown, tree.items)) + brackets[1]

    assert not isinstance(entry.signature, Leaf)
    positional, keywords = entry.signature.items
    assert not isinstance(positional, Leaf)
    assert not isinstance(keywords, Leaf)
    arguments = [shown(item) for item in positional.items]
    if isinstance(keywords, Mapping):
        arguments += [f"{key}={shown(item)}" for key, item in zip(keywords.keys, keywords.items, strict=True)]
    return f"({', '.join(arguments)})".replace("\n", " ")


def _input_type(leaf: InputLeaf) -> str:
    if not isinstance(leaf.type, TensorType):
        return str(leaf.type)
    return f"{leaf.type.dtype}[{', '.join(map(_extent, leaf.dims or ()))}]"


def _extent(dim: InputDim) -> str:
    if dim.size is not None:
        return str(dim.size)
    return f"{dim.minimum}.." if dim.maximum is None else f"{dim.minimum}..{dim.maximum}"


def _host_call(function: UserFunction, member: str) -> HostCall:
    positional = [""] * (len(function.parameters) - len(function.keywords))
    names = positional + distinct_names(function.keywords, RESERVED)
    types = map(_passed_type, function.parameters)
    parameters = ", ".join(f"{type} {name}".rstrip() for type, name in zip(types, names, strict=True))
    results = ", ".join(map(cpp_type, function.results))
    gives = f"Result<{results if function.form == 'one' else f'std::tuple<{results}>'}>" if results else "Status"
    return HostCall(f"std::function<toolchain::{gives}({parameters})>", member, quoted(function.name), str(function))


def _passed_type(kind: Type | None) -> str:
    """The type of a parameter: what is more than a word goes by reference."""
    text = cpp_type(kind)
    return text if kind in (INT, FLOAT, BOOL, None) else f"const {text}&"


def _state(program: Program, index: int) -> StateType:
    state = program.states[index]
    names = distinct_names([slot.name for slot in state.slots], RESERVED)
    slots = tuple(Slot(cpp_type(s.type), n, s.name) for s, n in zip(state.slots, names, strict=True))
    fixed = tuple(f"{name} is {value!r}".replace("\n", " ") for name, value in state.literals)
    return StateType("State" if len(program.states) == 1 else f"State{index}", slots, fixed)


def _state_type(states: tuple[StateType, ...]) -> str:
    if len(states) > 1:
        return f"std::variant<{', '.join(s.name for s in states)}>"
    return states[0].name if states[0].slots else ""
