"""One function of the program as a Python function.

Lines are kept as a tree until the end, so that ``elif`` and ``while`` conditions can be recognised.
"""

from __future__ import annotations

import builtins
import keyword
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hostgen.inlining import choose_inlining
from hostgen.names import name_variables
from hostgen.python.expressions import Expression, ExpressionPrinter, display_tuple, negated
from hostgen.ranges import integer_bits
from hostgen.structure import (
    Assign,
    Basic,
    Continue,
    End,
    Group,
    If,
    Leave,
    Loop,
    Region,
    Statement,
    falls_through,
    structure,
)
from hostgen.variables import share_variables
from toolchain.ir import (
    UNKNOWN_LOCATION,
    Block,
    Branch,
    Call,
    Function,
    HostOp,
    Location,
    Operand,
    Operation,
    Program,
    Raise,
    Return,
    instances,
)
from toolchain.ir.dot import source_line

RESERVED = frozenset((*keyword.kwlist, *dir(builtins), "rt", "ops", "calls", "decide"))
_LINE_LENGTH = 120
_INDENT = "    "


@dataclass(frozen=True, slots=True)
class Suite:
    """A compound statement: ``keyword condition:`` and its body."""

    keyword: str
    condition: str
    body: list[Line]
    comment: str = ""


Line: TypeAlias = "str | Suite"


@dataclass(slots=True)
class _Construct:
    """A loop or group being printed.

    exits: flag -> the keyword to go on with behind it when the flag is set. flags: those to clear in front of it.
    """

    exits: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)


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
    bound = [name for name in ("calls", "decide") if f"{name}[" in text or f"{name}(" in text]
    if bound:
        lines.insert(0, f"{_INDENT}{', '.join(bound)} = {', '.join(f'rt.{name}' for name in bound)}")
    return PythonFunction(name, function.entry, function.state, emitter.parameters, "\n".join(lines))


class _Emitter:
    def __init__(self, program: Program, function: Function) -> None:
        self._function = function
        self._numbers: Mapping[tuple[str, tuple[str, ...]], int] = {k: i for i, k in enumerate(instances(program))}
        self._inlining = choose_inlining(function)
        variables = share_variables(function, self._inlining)
        self._names = name_variables(program, function, variables, RESERVED)
        self._print = ExpressionPrinter(self._names.__getitem__, self._inlining, integer_bits(function))
        self._constructs: list[_Construct] = []

    @property
    def parameters(self) -> list[str]:
        return [self._names[p] for p in self._function.blocks[0].parameters]

    def lines(self) -> list[Line]:
        return self._region(structure(self._function)) or ["pass"]

    def _region(self, region: Region) -> list[Line]:
        return [line for statement in region for line in self._statement(statement)]

    def _statement(self, statement: Statement) -> Iterator[Line]:
        match statement:
            case Basic(block=block):
                yield from self._operations(block)
            case Assign():
                yield from self._assign(statement)
            case If():
                yield from self._if(statement)
            case Loop(head=head, body=body):
                yield from self._repeated(body, is_loop=True, location=_head_location(head))
            case Group(body=body):
                yield from self._repeated(body, is_loop=False, location=UNKNOWN_LOCATION)
            case Leave(label=label, levels=levels):
                yield from self._leave(f"leave_{label}", levels - 1, "break")
            case Continue(label=label, levels=levels):
                yield from self._leave(f"again_{label}", levels, "continue")
            case End(terminator=terminator):
                yield from self._end(terminator)

    def _operations(self, block: Block) -> Iterator[str]:
        for op in block.operations:
            if not self._inlining.is_inlined(op):
                yield from self._operation(op)

    def _operation(self, op: Operation) -> Iterator[str]:
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
        yield _assignment(targets, text) if targets else text

    def _assign(self, assign: Assign) -> Iterator[str]:
        pairs = [
            (self._names[parameter], self._print.operand(argument).text)
            for parameter, argument in zip(assign.parameters, assign.arguments, strict=True)
        ]
        needed = [(target, source) for target, source in pairs if target != source]
        if needed:
            targets, sources = zip(*needed, strict=True)
            yield _assignment(", ".join(targets), ", ".join(sources))

    def _if(self, statement: If) -> Iterator[Line]:
        then, orelse = self._region(statement.then), self._region(statement.orelse)
        condition = self._condition(statement.block, statement.branch)
        comment = _comment(statement.branch.location)
        if not then and not orelse:
            yield condition.text
        elif not then:
            yield Suite("if", negated(condition), orelse, comment)
        else:
            yield Suite("if", condition.text, then, comment)
            if orelse and falls_through(statement.then):
                yield from _else(orelse)
            else:
                yield from orelse

    def _condition(self, block: Block, branch: Branch) -> Expression:
        return Expression(f"decide({block.id}, {self._print.operand(branch.condition).text})")

    def _repeated(self, body: Region, is_loop: bool, location: Location) -> Iterator[Line]:
        """A loop, or a group as a loop that runs once."""
        construct = _Construct()
        self._constructs.append(construct)
        lines = self._region(body)
        self._constructs.pop()
        if not is_loop and falls_through(body):
            lines.append("break")
        yield from (f"{flag} = False" for flag in construct.flags)
        yield _as_while(lines, _comment(location))
        for flag, way in construct.exits.items():
            yield Suite("if", flag, [way])

    def _leave(self, flag: str, count: int, last: str) -> Iterator[str]:
        """Leaves ``count`` loops, then does ``last``. Python has no labels: a flag is tested behind each loop."""
        if count == 0:
            yield last
            return
        left = self._constructs[-count:]
        for construct in left:
            construct.exits.setdefault(flag, "break")
        left[0].exits[flag] = last
        if flag not in left[0].flags:
            left[0].flags.append(flag)
        yield f"{flag} = True"
        yield "break"

    def _end(self, node: Return | Raise) -> Iterator[Line]:
        if self._changes_anything(node):
            state = display_tuple(self._print.operand(v).text for v in node.state)
            mutated = display_tuple(f"({index}, {self._print.operand(v).text})" for index, v in node.mutated)
            yield f"rt.commit({node.next_state}, {state}, {mutated})"
        if isinstance(node, Return):
            yield f"return {self._print.structure(node.result)}"
        else:
            arguments = ", ".join(self._print.operand(a).text for a in node.arguments)
            yield _with_comment(f"raise {node.exception}({arguments})", _comment(node.location))

    def _changes_anything(self, node: Return | Raise) -> bool:
        before: tuple[Operand, ...] = self._function.blocks[0].parameters[: len(node.state)]
        return bool(node.mutated) or node.next_state != self._function.state or node.state != before


def _assignment(target: str, text: str) -> str:
    step = re.fullmatch(rf"{target} ([+-]) (\d+)", text)
    return f"{target} {step[1]}= {step[2]}" if step else f"{target} = {text}"


def _head_location(head: Block) -> Location:
    return head.location if head.location != UNKNOWN_LOCATION else head.terminator.location


def _comment(location: Location) -> str:
    return "" if location == UNKNOWN_LOCATION else source_line(location)


def _else(lines: list[Line]) -> Iterator[Line]:
    """An ``else``; as ``elif`` if it holds nothing but one decision."""
    first, *rest = lines
    is_chain = all(isinstance(line, Suite) and line.keyword in ("elif", "else") for line in rest)
    if isinstance(first, Suite) and first.keyword == "if" and is_chain:
        yield replace(first, keyword="elif")
        yield from rest
    else:
        yield Suite("else", "", lines)


def _as_while(lines: list[Line], comment: str) -> Suite:
    """``while True``, or ``while condition`` if the body starts with the only decision to leave."""
    first, *rest = lines
    is_alone = not (rest and isinstance(rest[0], Suite) and rest[0].keyword in ("elif", "else"))
    if isinstance(first, Suite) and first.keyword == "if" and first.body == ["break"] and rest and is_alone:
        opposite = first.condition.removeprefix("not ")
        condition = opposite if opposite != first.condition else f"not {first.condition}"
        return Suite("while", condition, rest, first.comment or comment)
    return Suite("while", "True", lines, comment)


def _laid_out(lines: list[Line], depth: int) -> Iterator[str]:
    for line in lines:
        if isinstance(line, str):
            yield from _wrapped(line, _INDENT * depth)
        else:
            header = f"{line.keyword} {line.condition}".rstrip() + ":"
            yield _INDENT * depth + _with_comment(header, line.comment, len(_INDENT) * depth)
            yield from _laid_out(line.body, depth + 1)


def _wrapped(text: str, indent: str) -> list[str]:
    """A call with very many results on several lines. Nothing else is broken up: it may hold texts with spaces."""
    targets, _, source = text.partition(" = ")
    if len(indent) + len(text) <= _LINE_LENGTH or not (source.startswith("calls[") and ", " in targets):
        return [indent + text]
    # Lines may only break inside of parentheses: not at the equals sign, which is therefore glued to its sides.
    glued = "\u00a0=\u00a0"
    lines = textwrap.wrap(
        f"({targets}){glued}{source}",
        width=_LINE_LENGTH,
        initial_indent=indent,
        subsequent_indent=f"{indent} ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(glued, " = ") for line in lines]


def _with_comment(text: str, comment: str, indent: int = 0) -> str:
    """``text`` with as much of the comment as fits; none if that is next to nothing."""
    room = _LINE_LENGTH - indent - len(text) - len("  # ")
    if not comment or room < 10:
        return text
    return f"{text}  # {comment if len(comment) <= room else comment[: room - 3] + '...'}"
