"""Structured control flow as lines of text, for host languages with ``if``, ``while``, ``break`` and ``continue``.

Lines are kept as a tree until a language lays them out, so that ``elif`` and ``while`` conditions can be recognised.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

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
)
from toolchain.ir import UNKNOWN_LOCATION, Block, Branch, Function, Location, Operand, Raise, Return
from toolchain.ir.dot import source_line

LINE_LENGTH = 120
INDENT = "    "


@dataclass(frozen=True, slots=True)
class Suite:
    """A compound statement and its body. keyword: "if", "elif", "else" or "while"."""

    keyword: str
    condition: str
    body: list[Line]
    comment: str = ""


Line: TypeAlias = "str | Suite"


@dataclass(frozen=True, slots=True)
class Syntax:
    """How a language writes what all of them have.

    negation: goes in front of an atomic condition.
    """

    leave: str
    again: str
    true: str
    negation: str
    set_flag: str
    clear_flag: str

    def negated(self, condition: str) -> str:
        """The opposite of an atomic condition, or of the negation of one."""
        opposite = condition.removeprefix(self.negation)
        return opposite if opposite != condition else self.negation + condition


@dataclass(slots=True)
class _Construct:
    """A loop or group being printed.

    exits: flag -> the line to go on with behind it when the flag is set. flags: those to clear in front of it.
    """

    exits: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)


class StatementEmitter(ABC):
    """Turns regions into lines; a language says how its operations, assignments, conditions and ends look.

    flags: the variables that the lines use besides those of the program, all bool.
    """

    def __init__(self, syntax: Syntax) -> None:
        self._syntax = syntax
        self._constructs: list[_Construct] = []
        self.flags: dict[str, None] = {}

    @abstractmethod
    def operations(self, block: Block) -> Iterator[Line]:
        """The operations of ``block`` that have lines of their own."""

    @abstractmethod
    def assign(self, assign: Assign) -> Iterator[Line]:
        """All parameters set at once."""

    @abstractmethod
    def condition(self, block: Block, branch: Branch) -> str:
        """The decision at the end of ``block``: an atomic expression."""

    @abstractmethod
    def end(self, node: Return | Raise) -> Iterator[Line]:
        """Leaves the function."""

    def region(self, region: Region) -> list[Line]:
        return [line for statement in region for line in self._statement(statement)]

    def _statement(self, statement: Statement) -> Iterator[Line]:
        match statement:
            case Basic(block=block):
                yield from self.operations(block)
            case Assign():
                yield from self.assign(statement)
            case If():
                yield from self._if(statement)
            case Loop(head=head, body=body):
                yield from self._repeated(body, is_loop=True, location=_head_location(head))
            case Group(body=body):
                yield from self._repeated(body, is_loop=False, location=UNKNOWN_LOCATION)
            case Leave(label=label, levels=levels):
                yield from self._leave(f"leave_{label}", levels - 1, self._syntax.leave)
            case Continue(label=label, levels=levels):
                yield from self._leave(f"again_{label}", levels, self._syntax.again)
            case End(terminator=terminator):
                yield from self.end(terminator)

    def _if(self, statement: If) -> Iterator[Line]:
        then, orelse = self.region(statement.then), self.region(statement.orelse)
        condition = self.condition(statement.block, statement.branch)
        comment = comment_of(statement.branch.location)
        if not then and not orelse:
            # Sides that do nothing still make a decision.
            yield from self.bare(condition)
        elif not then:
            yield Suite("if", self._syntax.negated(condition), orelse, comment)
        else:
            yield Suite("if", condition, then, comment)
            if orelse and falls_through(statement.then):
                yield from _else(orelse)
            else:
                yield from orelse

    @abstractmethod
    def bare(self, condition: str) -> Iterator[Line]:
        """A condition as a statement."""

    def _repeated(self, body: Region, is_loop: bool, location: Location) -> Iterator[Line]:
        """A loop, or a group as a loop that runs once."""
        construct = _Construct()
        self._constructs.append(construct)
        lines = self.region(body)
        self._constructs.pop()
        if not is_loop and falls_through(body):
            lines.append(self._syntax.leave)
        yield from (self._syntax.clear_flag.format(flag) for flag in construct.flags)
        yield self._as_while(lines, comment_of(location))
        for flag, way in construct.exits.items():
            yield Suite("if", flag, [way])

    def _leave(self, flag: str, count: int, last: str) -> Iterator[Line]:
        """Leaves ``count`` loops, then does ``last``. Without labels: a flag is tested behind each loop."""
        if count == 0:
            yield last
            return
        left = self._constructs[-count:]
        for construct in left:
            construct.exits.setdefault(flag, self._syntax.leave)
        left[0].exits[flag] = last
        if flag not in left[0].flags:
            left[0].flags.append(flag)
        self.flags[flag] = None
        yield self._syntax.set_flag.format(flag)
        yield self._syntax.leave

    def _as_while(self, lines: list[Line], comment: str) -> Suite:
        """An endless loop, or ``while condition`` if the body starts with the only decision to leave."""
        first, *rest = lines
        is_alone = not (rest and isinstance(rest[0], Suite) and rest[0].keyword in ("elif", "else"))
        is_test = isinstance(first, Suite) and first.keyword == "if" and first.body == [self._syntax.leave]
        if isinstance(first, Suite) and is_test and rest and is_alone:
            return Suite("while", self._syntax.negated(first.condition), rest, first.comment or comment)
        return Suite("while", self._syntax.true, lines, comment)


def _else(lines: list[Line]) -> Iterator[Line]:
    """An ``else``; as ``elif`` if it holds nothing but one decision."""
    first, *rest = lines
    is_chain = all(isinstance(line, Suite) and line.keyword in ("elif", "else") for line in rest)
    if isinstance(first, Suite) and first.keyword == "if" and is_chain:
        yield replace(first, keyword="elif")
        yield from rest
    else:
        yield Suite("else", "", lines)


def _head_location(head: Block) -> Location:
    return head.location if head.location != UNKNOWN_LOCATION else head.terminator.location


def flag_names(function: Function) -> frozenset[str]:
    """What an emitter may call its flags: no variable of the program gets such a name."""
    return frozenset(f"{way}_{block.id}" for block in function.blocks for way in ("leave", "again"))


def comment_of(location: Location) -> str:
    """The user's line, or nothing where it is not known."""
    return "" if location == UNKNOWN_LOCATION else source_line(location)


def assignment(target: str, text: str) -> str:
    """``target = text``, or ``target += n`` where that is what it does."""
    step = re.fullmatch(rf"{target} ([+-]) (\d+)", text)
    return f"{target} {step[1]}= {step[2]}" if step else f"{target} = {text}"


def changes_anything(function: Function, node: Return | Raise) -> bool:
    """Whether the end of a call leaves another state behind than it found, or changes an argument."""
    before: tuple[Operand, ...] = function.blocks[0].parameters[: len(node.state)]
    return bool(node.mutated) or node.next_state != function.state or node.state != before


def with_comment(text: str, comment: str, indent: int = 0, mark: str = "#") -> str:
    """``text`` with as much of the comment as fits; none if that is next to nothing."""
    room = LINE_LENGTH - indent - len(text) - len(f"  {mark} ")
    if not comment or room < 10:
        return text
    return f"{text}  {mark} {comment if len(comment) <= room else comment[: room - 3] + '...'}"
