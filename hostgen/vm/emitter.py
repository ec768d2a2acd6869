"""One function of the program as a function of the VM.

The VM runs graphs of blocks with arguments, which is what a program is: nothing has to be structured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hostgen.names import identifier
from hostgen.ranges import integer_bits
from hostgen.vm.results import Layout, shape_of, values_of
from hostgen.vm.scalars import ScalarPrinter
from hostgen.vm.sharing import repeated, sharing
from hostgen.vm.texts import TEXT_OPCODES, Texts, failure
from hostgen.vm.types import (
    CROSSING,
    KINDS,
    VIEW,
    Inexpressible,
    kind_of,
    list_kinds,
    literal,
    mlir_type,
    quoted,
    scalar_kind,
)
from toolchain.diagnostics import Problem
from toolchain.ir import (
    BOOL,
    HOST_CALL,
    UNKNOWN_LOCATION,
    Block,
    Branch,
    Call,
    Constant,
    Edge,
    Function,
    HostOp,
    Jump,
    Location,
    Operand,
    Operation,
    Program,
    Raise,
    Return,
    TensorType,
    Terminator,
    Type,
    Value,
    instances,
)
from toolchain.ir.dot import source_line
from toolchain.ir.graph import Cfg
from toolchain.ir.signatures import type_of


@dataclass(frozen=True, slots=True)
class Context:
    """What the functions of a program share.

    weights:  constant -> the function that gives it. imports: number of an instance -> its declaration.
    failures: message -> the function that ends the call with it.
    traced:   whether decisions are recorded.
    """

    program: Program
    traced: bool
    weights: dict[str, str] = field(default_factory=dict)
    imports: dict[int, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def report(self, problem: Inexpressible, location: Location) -> None:
        text = f"the VM host cannot express {problem.what}"
        hint = problem.hint or "build for another host, or write it in another way"
        self.problems.append(Problem("TC171", location.file, location.line, text, hint))


def instance_name(number: int) -> str:
    """The module name of an instance: as long as those of compiled modules, whose place it takes in the file."""
    return f"instance_{number:09}"


def state_name(state: int, slot: int) -> str:
    return f"state{state}_{slot}"


def emit_function(context: Context, function: Function, name: str, layout: Layout) -> str:
    """``util.func private @name``: of the state's slots and the inputs, to the results of ``layout``.

    Adds what it needs to ``context``, and what it cannot express to the problems there.
    """
    return _Emitter(context, function, layout).function(name)


class _Emitter:
    def __init__(self, context: Context, function: Function, layout: Layout) -> None:
        self._context = context
        self._function = function
        self._layout = layout
        self._numbers = {k: i for i, k in enumerate(instances(context.program))}
        self._texts = Texts()
        self._sharing = sharing(function)
        self._lines: list[str] = []
        self._count = 0
        self._cfg = Cfg(function)
        self._scalars = ScalarPrinter(self.give, self.operand_as, integer_bits(function))

    def function(self, name: str) -> str:
        entry = self._function.blocks[0]
        # The first block of a function has no predecessors in MLIR.
        if self._cfg.incoming[entry.id]:
            self._lines.append(f"  cf.br {self._label(entry.id, entry.parameters)}")
        for block in self._function.blocks:
            self._block(block, is_first=block is entry and not self._cfg.incoming[entry.id])
        parameters = self._guarded(lambda: self._parameters(entry.parameters), entry.location) or ""
        results = ", ".join(self._layout.types)
        return "\n".join([f"util.func private @{name}({parameters}) -> ({results}) {{", *self._lines, "}"])

    def _guarded(self, emit: Callable[[], str | None], location: Location) -> str | None:
        try:
            return emit()
        except Inexpressible as problem:
            self._context.report(problem, location)
            return None

    def _block(self, block: Block, is_first: bool) -> None:
        if not is_first:
            parameters = self._guarded(lambda: self._parameters(block.parameters), block.location) or ""
            self._lines.append(f"^block{block.id}{f'({parameters})' if parameters else ''}:")
        self._receive(block.parameters)
        for op in block.operations:
            self._guarded(lambda op=op: self._operation(op), op.location)  # type: ignore[misc]
        self._guarded(lambda: self._terminator(block, block.terminator), block.terminator.location)

    def _parameters(self, values: Sequence[Value]) -> str:
        return ", ".join(f"{self._crossing_name(v)}: {CROSSING[kind_of(v.type)]}" for v in dict.fromkeys(values))

    def _crossing_name(self, value: Value) -> str:
        return f"{self._name(value)}_number" if value.type == BOOL else self._name(value)

    def _receive(self, values: Sequence[Value]) -> None:
        for value in dict.fromkeys(values):
            if value.type == BOOL:
                self.give(value, f"arith.trunci {self._crossing_name(value)} : i64 to i1")

    def _name(self, value: Value) -> str:
        return f"%{identifier(value.name)}_{value.id}" if value.name else f"%v{value.id}"

    # Printing.

    def give(self, result: Value | None, text: str) -> str:
        """Emits ``result = text``, for a value or something new; returns its name."""
        if result is not None:
            name = self._name(result)
        else:
            self._count += 1
            name = f"%t{self._count}"
        self._lines.append(f"  {name} = {text}")
        return name

    def _do(self, text: str) -> None:
        self._lines.append(f"  {text}")

    def _call(self, results: Sequence[Value], name: str, operands: Sequence[tuple[str, str]]) -> None:
        """Emits a call; operands are (name, MLIR type)."""
        names = ", ".join(self._name(r) for r in results)
        arguments = ", ".join(name for name, _ in operands)
        types = ", ".join(kind for _, kind in operands)
        gives = ", ".join(mlir_type(r.type) for r in results)
        self._do(f"{f'{names} = ' if names else ''}util.call @{name}({arguments}) : ({types}) -> ({gives})")

    def operand_as(self, operand: Operand, kind: str | None = None) -> str:
        """The name of ``operand``, converted to ``kind`` as Python does it implicitly."""
        own = kind_of(type_of(operand))
        if isinstance(operand, Value):
            name = self._name(operand)
        elif isinstance(operand, Constant):
            weights = self._context.weights
            function = weights.setdefault(operand.name, f"weight{len(weights)}")
            name = self.give(None, f"util.call @{function}() : () -> {VIEW}")
        else:
            assert isinstance(operand, (bool, int, float))
            exact = float(operand) if kind == "float" else int(operand) if kind == "int" else operand
            return self.give(None, f"arith.constant {literal(exact)}")
        return name if kind in (own, None) else self._scalars.converted(name, own, str(kind))

    def _typed(self, operand: Operand) -> tuple[str, str]:
        return self.operand_as(operand), mlir_type(type_of(operand))

    # Operations.

    def _operation(self, op: Operation) -> None:
        match op:
            case Call():
                self._subgraph(op)
            case HostOp(opcode=opcode) if opcode in TEXT_OPCODES:
                self._texts.define(op)
            case HostOp(opcode=opcode) if opcode == HOST_CALL:
                hint = "build for the Python or the C++ host, or compute it with torch"
                raise Inexpressible(f"a call of {op.attributes[0]}", hint)
            case HostOp(opcode="print" | "warn"):
                raise Inexpressible(f"{op.opcode}()", "return the values, and print them in the calling program")
            case HostOp(opcode="check"):
                message = failure(*map(str, op.attributes), op.location)  # type: ignore[call-arg,arg-type]
                self._do(f"cf.assert {self.operand_as(op.operands[0])}, {quoted(message)}")
            case HostOp(opcode=opcode) if opcode.startswith("list") or opcode == "tensor_list":
                self._list(op)
            case HostOp(opcode="item" | "dim" | "full"):
                self._tensor(op)
            case HostOp():
                self._scalars.operation(op)
            case _:
                raise AssertionError("hosts are generated from partitioned programs")

    def _subgraph(self, op: Call) -> None:
        subgraph = self._context.program.subgraphs[op.subgraph]
        number = self._numbers[(op.subgraph, op.weights)]
        kinds = ["int" if k == "bool" else k for k in (kind_of(p.type) for p in subgraph.parameters)]
        operands = [(self.operand_as(o, k), KINDS[k]) for o, k in zip(op.operands, kinds, strict=True)]
        function = f"{instance_name(number)}.main"
        takes, gives = ", ".join(KINDS[k] for k in kinds), ", ".join([VIEW] * len(op.results))
        self._context.imports[number] = f"util.func private @{function}({takes}) -> ({gives})"
        unmarked = {r: Value(r.id, r.type, "unmarked") for r in op.results if _is_unsigned(r)}
        self._call([unmarked.get(r, r) for r in op.results], function, operands)
        for result, raw in unmarked.items():
            assert isinstance(result.type, TensorType)
            self._call([result], f"marked__uint8_{result.type.rank}", [(self._name(raw), VIEW)])

    def _tensor(self, op: HostOp) -> None:
        operand, kind = op.operands[0], type_of(op.operands[0])
        match op.opcode:
            case "item":
                assert isinstance(kind, TensorType)
                self._call(op.results, f"item__{kind.dtype}_{kind.rank}", [self._typed(operand)])
            case "dim":
                view = self.operand_as(operand)
                extent = self.give(None, f"hal.buffer_view.dim<{view} : {VIEW}>[{op.attributes[0]}] : index")
                self.give(op.results[0], f"arith.index_cast {extent} : index to i64")
            case _:
                dtype, *dims = op.attributes
                scalar = self._converted(operand, str(dtype))
                shape = "".join(f"{d}x" for d in dims)
                self._call(op.results, f"full__{dtype}_{shape}", [scalar])

    def _converted(self, operand: Operand, dtype: str) -> tuple[str, str]:
        """A number as what ``torch.full`` makes of it."""
        name, kind = self.operand_as(operand), kind_of(type_of(operand))
        to = KINDS[scalar_kind(dtype)]
        text = f"util.call @convert__{kind}_{dtype}({name}) : ({KINDS[kind]}) -> {to}"
        return self.give(None, text), to

    def _list(self, op: HostOp) -> None:
        [result, *_] = op.results
        match op.opcode:
            case "list":
                self._new_list(op)
            case "list_stack" | "list_cat":
                element = _element(op.operands[0])
                dim = f"_{op.attributes[0] % element.rank}" if op.opcode == "list_cat" else ""  # type: ignore[operator]
                name = f"{op.opcode.removeprefix('list_')}__{element.dtype}_{element.rank}{dim}"
                self._call([result], name, [self._typed(op.operands[0])])
            case "list_tensor":
                [kind] = list_kinds(_type(op.operands[0]))
                self._call([result], f"fromlist__{kind}_{op.attributes[0]}", [self._typed(op.operands[0])])
            case "tensor_list":
                tensor = _type(op.operands[0])
                assert isinstance(tensor, TensorType)
                list_kinds(result.type)
                self._call([result], f"tolist__{tensor.dtype}", [self._typed(op.operands[0])])
            case _:
                self._changed_list(op)

    def _new_list(self, op: HostOp) -> None:
        [result] = op.results
        kinds = list_kinds(result.type)
        length = len(op.operands) // len(kinds)
        count = self.give(None, f"arith.constant {length} : i64")
        suffix = "_".join(kinds)
        self._call([result], f"new__{suffix}", [(count, "i64")])
        for position in range(length):
            at = self.give(None, f"arith.constant {position} : i64")
            element = op.operands[position * len(kinds) : (position + 1) * len(kinds)]
            items = [(self.operand_as(o, k), KINDS[k]) for o, k in zip(element, kinds, strict=True)]
            self._call([], f"put__{suffix}", [(self._name(result), KINDS["list"]), (at, "i64"), *items])

    def _changed_list(self, op: HostOp) -> None:
        source, *rest = op.operands
        # An empty list of unknown elements becomes a list of some.
        typed = op.results[0].type if op.opcode in ("list_append", "list_insert", "list_extend") else _type(source)
        kinds = list_kinds(typed)
        wanted = [*{"list_insert": ("int",), "list_set": ("int",)}.get(op.opcode, ()), *kinds]
        if op.opcode == "list_slice":
            rest = [0 if rest[0] is None else rest[0], 2**63 - 1 if rest[1] is None else rest[1]]
        if op.opcode in ("list_get", "list_pop", "list_slice", "list_extend", "list_len", "list_reverse"):
            wanted = [kind_of(type_of(o)) for o in rest]
        operands = [(self.operand_as(o, k), KINDS[k]) for o, k in zip(rest, wanted, strict=True)]
        name = f"{op.opcode.removeprefix('list_')}__{'_'.join(kinds)}"
        self._call(op.results, name, [self._typed(source), *operands])

    # Terminators.

    def _terminator(self, block: Block, node: Terminator) -> None:
        if node.location != UNKNOWN_LOCATION:
            self._lines.append(f"  // {source_line(node.location)}")
        match node:
            case Jump(edge=edge):
                self._do(f"cf.br {self._edge(edge)}")
            case Branch():
                self._branch(block, node)
            case Return():
                self._commit(node)
                which = [shape_of(node.result, self._layout)] if len(self._layout.shapes) > 1 else []
                self._return(node, [*map(self.operand_as, which)])
            case Raise():
                self._commit(node)
                self._fail(self._texts.of_exception(node))
                self._do_return([self._null(kind) for kind in self._layout.types])

    def _fail(self, message: str) -> None:
        # In a function of its own, since the compiler moves stores behind assertions, but not behind calls.
        failures = self._context.failures
        self._do(f"util.call @{failures.setdefault(message, f'fail{len(failures)}')}() : () -> ()")

    def _branch(self, block: Block, branch: Branch) -> None:
        condition = self.operand_as(branch.condition)
        if self._context.traced:
            number = self.give(None, f"arith.constant {block.id} : i64")
            self._do(f"util.call @record({number}, {condition}) : (i64, i1) -> ()")
        self._do(f"cf.cond_br {condition}, {self._edge(branch.then)}, {self._edge(branch.orelse)}")

    def _edge(self, edge: Edge) -> str:
        # A parameter that is there twice gets the same argument twice.
        passed = dict(zip(self._cfg.blocks[edge.target].parameters, edge.arguments, strict=True))
        names = self._distinct(list(passed.values()), [kind_of(parameter.type) for parameter in passed])
        if not names:
            return f"^block{edge.target}"
        types = ", ".join(CROSSING[kind_of(p.type)] for p in passed)
        return f"^block{edge.target}({', '.join(names)} : {types})"

    def _distinct(self, operands: list[Operand], kinds: list[str]) -> list[str]:
        """The names of ``operands`` converted to ``kinds``, with no reference twice among them."""
        names = []
        for operand, kind, again in zip(operands, kinds, repeated(operands, self._sharing), strict=True):
            name = self.operand_as(operand, "int" if kind == "bool" else kind)
            mlir = CROSSING[kind]
            names.append(self.give(None, f"util.call @again__{kind}({name}) : ({mlir}) -> {mlir}") if again else name)
        return names

    def _label(self, block: int, values: Sequence[Value]) -> str:
        names = ", ".join(map(self._crossing_name, values))
        types = ", ".join(CROSSING[kind_of(v.type)] for v in values)
        return f"^block{block}({names} : {types})" if names else f"^block{block}"

    def _commit(self, node: Return | Raise) -> None:
        """Stores what the call leaves behind."""
        before = self._function.blocks[0].parameters
        slots = self._context.program.states[node.next_state].slots
        for index, (slot, value) in enumerate(zip(slots, node.state, strict=True)):
            if node.next_state != self._function.state or value != before[index]:
                kind = kind_of(slot.type)
                name = self.operand_as(value, "int" if kind == "bool" else kind)
                self._do(f"util.global.store {name}, @{state_name(node.next_state, index)} : {CROSSING[kind]}")
        if node.next_state != self._function.state:
            name = self.give(None, f"arith.constant {node.next_state} : i64")
            self._do(f"util.global.store {name}, @state : i64")

    def _return(self, node: Return, names: list[str]) -> None:
        shape = self._layout.shapes[shape_of(node.result, self._layout)]
        found: Mapping[int, Operand] = dict(zip(shape.columns, values_of(node.result), strict=True))
        slots = len(self._context.program.states[self._function.state].slots)
        inputs = self._function.blocks[0].parameters[slots:]
        mutated = {index: inputs[index] for index in self._layout.mutated} | dict(node.mutated)
        columns = sorted(found)
        operands = [*(found[column] for column in columns), *mutated.values()]
        kinds = [*(self._layout.kinds[column] for column in columns), *["tensor"] * len(mutated)]
        given = self._distinct(operands, kinds)
        used = dict(zip(columns, given, strict=False))
        names += [used.get(i) or self._null(CROSSING[kind]) for i, kind in enumerate(self._layout.kinds)]
        self._do_return(names + given[len(columns) :])

    def _do_return(self, names: list[str]) -> None:
        types = ", ".join(self._layout.types)
        self._do(f"util.return {', '.join(names)} : {types}" if names else "util.return")

    def _null(self, mlir: str) -> str:
        zero = {"i64": literal(0), "f64": literal(0.0)}.get(mlir)
        return self.give(None, f"util.null : {mlir}" if zero is None else f"arith.constant {zero}")


def _is_unsigned(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype == "uint8"


def _type(operand: Operand) -> Type:
    found = type_of(operand)
    assert found is not None
    return found


def _element(operand: Operand) -> TensorType:
    element = getattr(type_of(operand), "element", None)
    if not isinstance(element, TensorType):
        raise Inexpressible("stacking a list that is always empty")
    return element
