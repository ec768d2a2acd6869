"""One function of the program as a member function in C++."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hostgen.cpp.expressions import ExpressionPrinter, is_sure
from hostgen.cpp.literals import quoted
from hostgen.cpp.names import RESERVED
from hostgen.cpp.results import Output, result_expression
from hostgen.cpp.types import cpp_dtype, cpp_type, holds_tensors
from hostgen.inlining import choose_inlining
from hostgen.names import name_variables
from hostgen.ranges import integer_bits
from hostgen.statements import (
    INDENT,
    LINE_LENGTH,
    Line,
    StatementEmitter,
    Syntax,
    assignment,
    changes_anything,
    comment_of,
    flag_names,
    with_comment,
)
from hostgen.structure import Assign, structure
from hostgen.variables import share_variables
from toolchain.ir import (
    HOST_CALL,
    Block,
    Branch,
    Call,
    Constant,
    Function,
    HostOp,
    Operand,
    Operation,
    Program,
    Raise,
    Return,
    TensorType,
    UserFunction,
    Value,
    instances,
    structure_leaves,
    user_function,
    values_in,
)
from toolchain.ir.signatures import type_of

_SYNTAX = Syntax("break;", "continue;", "true", "!", "{} = true;", "{} = false;")


@dataclass(frozen=True, slots=True)
class CppFunction:
    """name, parameter declarations and body of a generated member function; the body is indented.

    state: index of the state that the program is in when it is called.
    parameters: declarations: the state's slots, the inputs, then the caller's tensors that it changes.
    changed: indices of the inputs that these are.
    """

    name: str
    state: int
    parameters: tuple[str, ...]
    changed: tuple[int, ...]
    body: str


def emit_function(
    program: Program,
    function: Function,
    name: str,
    output: Output,
    constant: Callable[[Constant], str],
    host_calls: Mapping[UserFunction, str],
) -> CppFunction:
    """constant: the expression of a weight that host code reads. host_calls: members that hold the user's functions."""
    emitter = _Emitter(program, function, output, constant, host_calls)
    body = "\n".join(_laid_out([*emitter.lines()], 1))
    return CppFunction(name, function.state, emitter.parameters, emitter.changed, body)


class _Emitter(StatementEmitter):
    def __init__(
        self,
        program: Program,
        function: Function,
        output: Output,
        constant: Callable[[Constant], str],
        host_calls: Mapping[UserFunction, str],
    ) -> None:
        super().__init__(_SYNTAX)
        self._host_calls = host_calls
        self._function = function
        self._entry = program.entries[function.entry]
        self._states = len(program.states)
        self._output = output
        self._numbers: Mapping[tuple[str, tuple[str, ...]], int] = {k: i for i, k in enumerate(instances(program))}
        self._bits = integer_bits(function)
        self._inlining = choose_inlining(function, self._is_sure)
        self._variables = share_variables(function, self._inlining, cpp_type)
        ours = {text for i in range(len(self._entry.inputs)) for text in (target_name(i), f"write_{i}")}
        reserved = RESERVED | flag_names(function) | ours
        self._names = name_variables(program, function, self._variables, reserved)
        self._read: set[str] = set()
        self._print = ExpressionPrinter(self._reading, constant, self._inlining, self._bits)
        self._lines = self.region(structure(function))

    def _is_sure(self, op: HostOp) -> bool:
        return is_sure(op, self._bits)

    def _reading(self, value: Value) -> str:
        self._read.add(self._names[value])
        return self._names[value]

    @property
    def changed(self) -> tuple[int, ...]:
        """Indices of the inputs that the function changes."""
        ends = (b.terminator for b in self._function.blocks if isinstance(b.terminator, (Return, Raise)))
        return tuple(sorted({index for end in ends for index, _ in end.mutated}))

    @property
    def parameters(self) -> tuple[str, ...]:
        own = (self._declared(p, f"{cpp_type(p.type)} {self._names[p]}") for p in self._function.blocks[0].parameters)
        return (*own, *(f"const toolchain::MutableTensorView& {target_name(i)}" for i in self.changed))

    def _declared(self, value: Value, text: str) -> str:
        """Compilers warn of variables that are set but never read."""
        return text if self._names[value] in self._read else f"[[maybe_unused]] {text}"

    def lines(self) -> Iterator[Line]:
        yield from self._declarations()
        yield from self._lines

    def _declarations(self) -> Iterator[str]:
        """All variables but the parameters: C++ would end those that a branch declares with the branch."""
        done = {self._names[p] for p in self._function.blocks[0].parameters}
        groups: dict[str, list[str]] = {}
        for value in self._variables:
            name = self._names[value]
            if name not in done:
                done.add(name)
                is_object = cpp_type(value.type) not in ("std::int64_t", "double", "bool")
                groups.setdefault(self._declared(value, cpp_type(value.type)), []).append(
                    name if is_object else f"{name}{{}}"
                )
        if self.flags:
            groups.setdefault("bool", []).extend(f"{flag}{{}}" for flag in self.flags)
        yield from (f"{kind} {', '.join(names)};" for kind, names in groups.items())

    def operations(self, block: Block) -> Iterator[Line]:
        for op in block.operations:
            if isinstance(op, HostOp) and op.opcode == HOST_CALL:
                yield from self._host_call(op)
            elif not self._inlining.is_inlined(op):
                yield self._operation(op)

    def _operation(self, op: Operation) -> str:
        match op:
            case Call():
                operands = ", ".join(self._print.typed(o, type_of(o)) for o in op.operands)
                results = ", ".join(f"&{self._names[r]}" for r in op.results)
                number = self._numbers[(op.subgraph, op.weights)]
                return f"TOOLCHAIN_TRY(session_.call({number}, {{{operands}}}, {{{results}}}));"
            case HostOp():
                return self._host_operation(op)
            case _:
                raise AssertionError("hosts are generated from partitioned programs")

    def _host_operation(self, op: HostOp) -> str:
        names = [self._names[r] for r in op.results]
        text = self._moving(op, names[0] if len(names) == 1 else "")
        if not names:
            return f"TOOLCHAIN_TRY({text});" if op.opcode == "check" else f"{text};"
        target = names[0] if len(names) == 1 else f"std::tie({', '.join(names)})"
        return f"{assignment(target, text)};" if self._is_sure(op) else f"TOOLCHAIN_ASSIGN({target}, {text});"

    def _host_call(self, op: HostOp) -> Iterator[str]:
        """What the user's function gives is checked as far as its C++ type leaves it open."""
        function = user_function(op)
        arguments = ", ".join(self._print.typed(o, type_of(o)) for o in op.operands)
        text = f"host_calls_.{self._host_calls[function]}({arguments})"
        names = [self._names[r] for r in op.results]
        target = names[0] if function.form == "one" else f"std::tie({', '.join(names)})"
        yield f"TOOLCHAIN_ASSIGN({target}, {text});" if names else f"TOOLCHAIN_TRY({text});"
        for name, result in zip(names, op.results, strict=True):
            if isinstance(result.type, TensorType):
                extents = ", ".join("-1" if d is None else str(d) for d in result.type.dims)
                expected = f"{cpp_dtype(result.type.dtype)}, {{{extents}}}"
                check = f"check(session_, {quoted(function.name)}, {name}, {expected})"
                yield f"TOOLCHAIN_TRY(toolchain::host_calls::{check});"

    def _moving(self, op: HostOp, target: str) -> str:
        """The text of ``op``; a list that it changes needs no copy if the result takes its place in ``target``."""
        text = self._print.operation(op).text
        reads = [self._names[v] for v in self._inlining.expanded(values_in(op.operands))]
        is_last = op.opcode.startswith("list_") and reads[:1] == [target] and target not in reads[1:]
        return text.replace(f"({target},", f"(std::move({target}),", 1) if is_last else text

    def assign(self, assign: Assign) -> Iterator[Line]:
        """One assignment after the other, unless each needs a value that another one has overwritten."""
        pairs = [(p, a) for p, a in zip(assign.parameters, assign.arguments, strict=True) if not self._is_same(p, a)]
        pending = {self._names[p]: (p, a) for p, a in pairs}
        reads = {n: {self._names[v] for v in self._inlining.expanded(values_in(a))} for n, (_, a) in pending.items()}
        while pending:
            free = [n for n in pending if not any(n in reads[other] for other in pending if other != n)]
            if not free:
                sources = ", ".join(self._print.typed(a, p.type) for p, a in pending.values())
                yield f"std::tie({', '.join(pending)}) = std::make_tuple({sources});"
                return
            yield f"{assignment(free[0], self._assigned(*pending.pop(free[0])))};"

    def _assigned(self, parameter: Value, argument: Operand) -> str:
        if not isinstance(argument, (Value, Constant)):
            return self._print.operand(argument).text
        op = self._inlining.made_by.get(argument) if isinstance(argument, Value) else None
        is_converted = cpp_type(argument.type) != cpp_type(parameter.type)
        if op is None or is_converted:
            return self._print.typed(argument, parameter.type)
        return self._moving(op, self._names[parameter])

    def _is_same(self, parameter: Value, argument: Operand) -> bool:
        return isinstance(argument, Value) and self._names.get(argument) == self._names[parameter]

    def condition(self, block: Block, branch: Branch) -> str:
        text = self._print.operand(branch.condition).text
        return f'session_.decide("{self._function.name}", {block.id}, {text})'

    def bare(self, condition: str) -> Iterator[Line]:
        yield f"{condition};"

    def end(self, node: Return | Raise) -> Iterator[Line]:
        """Results are made before arguments change: they may be views of the arguments' memory."""
        if isinstance(node, Return):
            yield from self._owned(node)
        yield from self._written_back(node)
        if changes_anything(self._function, node) and (node.state or self._states > 1):
            kind = "State" if self._states == 1 else f"State{node.next_state}"
            yield f"state_ = {kind}{{{', '.join(self._print.operand(v).text for v in node.state)}}};"
        if isinstance(node, Return):
            yield f"return {result_expression(self._output, node.result, self._print.typed)};"
        else:
            arguments = ", ".join([f'"{node.exception}"', *(self._print.operand(a).text for a in node.arguments)])
            yield with_comment(f"return ops::raise({arguments});", comment_of(node.location), mark="//")

    def _written_back(self, node: Return | Raise) -> Iterator[Line]:
        """New values are read before the first one is stored: they may be views of each other's memory."""
        inputs = self._entry.inputs
        for index, value in node.mutated:
            new = self._print.operand(value).text
            arguments = f"{target_name(index)}, {new}, {quoted(inputs[index].name)}"
            yield f"TOOLCHAIN_ASSIGN(const auto write_{index}, toolchain::PendingWrite::make({arguments}));"
        for index, _ in node.mutated:
            yield f"write_{index}.store();"

    def _owned(self, node: Return) -> Iterator[Line]:
        leaves = dict.fromkeys(v for v in structure_leaves(node.result) if isinstance(v, Value))
        names = [self._reading(v) for v in leaves if holds_tensors(v.type)]
        if names:
            yield f"TOOLCHAIN_TRY(toolchain::own(session_, {', '.join(names)}));"


def target_name(index: int) -> str:
    """The parameter through which a function changes the caller's argument ``index``."""
    return f"target_{index}"


def _laid_out(lines: list[Line], depth: int) -> Iterator[str]:
    for index, line in enumerate(lines):
        if isinstance(line, str):
            yield from _wrapped(line, INDENT * depth)
            continue
        # An else stands on the line of the closing brace before it.
        brace = "} " if line.keyword in ("elif", "else") else ""
        keyword = {"elif": "else if"}.get(line.keyword, line.keyword)
        header = f"{brace}{keyword} ({line.condition}) {{" if line.condition else f"{brace}{keyword} {{"
        yield INDENT * depth + with_comment(header, line.comment, len(INDENT) * depth, "//")
        yield from _laid_out(line.body, depth + 1)
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if isinstance(following, str) or following.keyword not in ("elif", "else"):
            yield f"{INDENT * depth}}}"


def _wrapped(text: str, indent: str) -> list[str]:
    """Declarations and calls on several lines. Nothing else is broken up: it may hold texts with spaces."""
    if len(indent) + len(text) <= LINE_LENGTH or '"' in text:
        return [indent + text]
    return textwrap.wrap(
        text,
        width=LINE_LENGTH,
        initial_indent=indent,
        subsequent_indent=indent + INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
