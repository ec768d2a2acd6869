"""One function of the program as a Python function."""

from __future__ import annotations

import builtins
import keyword
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hostgen.inlining import choose_inlining
from hostgen.names import name_variables
from hostgen.python.expressions import ExpressionPrinter, display_tuple
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
    Block,
    Branch,
    Call,
    Function,
    HostOp,
    Operation,
    Program,
    Raise,
    Return,
    instances,
    user_functions,
)

# What functions use of the runtime, as variables of their own.
_BOUND = ("calls", "host_calls", "decide")
RESERVED = frozenset((*keyword.kwlist, *dir(builtins), "rt", "ops", *_BOUND))
_SYNTAX = Syntax("break", "continue", "True", "not ", "{} = True", "{} = False")


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """name, parameters (``rt`` apart) and body of a generated function; the body is indented."""

    name: str
    entry: int
    state: int
    parameters: list[str]
    body: str


def emit_function(program: Program, function: Function, name: str) -> PythonFunction:
    emitter = _Emitter(program, function)
    lines = list(_laid_out(emitter.lines(), 1))
    text = "\n".join(lines)
    bound = [name for name in _BOUND if re.search(rf"\b{name}[\[(]", text)]
    if bound:
        lines.insert(0, f"{INDENT}{', '.join(bound)} = {', '.join(f'rt.{name}' for name in bound)}")
    return PythonFunction(name, function.entry, function.state, emitter.parameters, "\n".join(lines))


class _Emitter(StatementEmitter):
    def __init__(self, program: Program, function: Function) -> None:
        super().__init__(_SYNTAX)
        self._function = function
        self._numbers: Mapping[tuple[str, tuple[str, ...]], int] = {k: i for i, k in enumerate(instances(program))}
        self._inlining = choose_inlining(function)
        variables = share_variables(function, self._inlining)
        self._names = name_variables(program, function, variables, RESERVED | flag_names(function))
        functions = {f: i for i, f in enumerate(user_functions(program))}
        self._print = ExpressionPrinter(self._names.__getitem__, self._inlining, integer_bits(function), functions)

    @property
    def parameters(self) -> list[str]:
        return [self._names[p] for p in self._function.blocks[0].parameters]

    def lines(self) -> list[Line]:
        return self.region(structure(self._function)) or ["pass"]

    def operations(self, block: Block) -> Iterator[Line]:
        for op in block.operations:
            if not self._inlining.is_inlined(op):
                yield self._operation(op)

    def _operation(self, op: Operation) -> str:
        match op:
            case Call():
                number = self._numbers[(op.subgraph, op.weights)]
                arguments = ", ".join(self._print.operand(o).text for o in op.operands)
                text = f"calls[{number}]({arguments})"
            case HostOp():
                text = self._print.operation(op).text
            case _:
                raise AssertionError("hosts are generated from partitioned programs")
        targets = ", ".join(self._names[r] for r in op.results)
        return assignment(targets, text) if targets else text

    def assign(self, assign: Assign) -> Iterator[Line]:
        pairs = [
            (self._names[parameter], self._print.operand(argument).text)
            for parameter, argument in zip(assign.parameters, assign.arguments, strict=True)
        ]
        needed = [(target, source) for target, source in pairs if target != source]
        if needed:
            targets, sources = zip(*needed, strict=True)
            yield assignment(", ".join(targets), ", ".join(sources))

    def condition(self, block: Block, branch: Branch) -> str:
        return f"decide({block.id}, {self._print.operand(branch.condition).text})"

    def bare(self, condition: str) -> Iterator[Line]:
        yield condition

    def end(self, node: Return | Raise) -> Iterator[Line]:
        if changes_anything(self._function, node):
            state = display_tuple(self._print.operand(v).text for v in node.state)
            mutated = display_tuple(f"({index}, {self._print.operand(v).text})" for index, v in node.mutated)
            yield f"rt.commit({node.next_state}, {state}, {mutated})"
        if isinstance(node, Return):
            yield f"return {self._print.structure(node.result)}"
        else:
            arguments = ", ".join(self._print.operand(a).text for a in node.arguments)
            yield with_comment(f"raise {node.exception}({arguments})", comment_of(node.location))


def _laid_out(lines: list[Line], depth: int) -> Iterator[str]:
    for line in lines:
        if isinstance(line, str):
            yield from _wrapped(line, INDENT * depth)
        else:
            header = f"{line.keyword} {line.condition}".rstrip() + ":"
            yield INDENT * depth + with_comment(header, line.comment, len(INDENT) * depth)
            yield from _laid_out(line.body, depth + 1)


def _wrapped(text: str, indent: str) -> list[str]:
    """A call with very many results on several lines. Nothing else is broken up: it may hold texts with spaces."""
    targets, _, source = text.partition(" = ")
    if len(indent) + len(text) <= LINE_LENGTH or not (source.startswith("calls[") and ", " in targets):
        return [indent + text]
    # Lines may only break inside of parentheses: not at the equals sign, which is therefore glued to its sides.
    glued = "\u00a0=\u00a0"
    lines = textwrap.wrap(
        f"({targets}){glued}{source}",
        width=LINE_LENGTH,
        initial_indent=indent,
        subsequent_indent=f"{indent} ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(glued, " = ") for line in lines]
