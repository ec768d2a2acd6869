"""The report of ``explain``: where a program would be cut, and every problem that keeps it from being built."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from dataclasses import dataclass

from toolchain.diagnostics.errors import Problem
from toolchain.diagnostics.render import render_problems
from toolchain.ir import HOST_CALL, Block, Branch, HostOp, Location, Program, Raise, instances

# Host operations that a reader should know of; the rest is plain scalar arithmetic.
_NOTABLE_HOST_OPS = {
    "item": ("read", "the host reads one value from a tensor"),
    "tensor_list": ("read", "the host reads all values of a tensor"),
    "check": ("check", "the host checks a condition that compiled code cannot report"),
    "print": ("effect", "the host prints"),
    "warn": ("effect", "the host issues a warning"),
    "list_append": ("list", "the host appends to a list"),
    "list_stack": ("list", "the host stacks a list of tensors"),
    "list_cat": ("list", "the host concatenates a list of tensors"),
}


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where static tensor code ends and the host takes over.

    kind:         "decision", "loop", "read", "check", "raise", "effect", "call" or "list".
    file, line:   the user's source (1-based line).
    function:     the enclosing function of the user.
    message:      what the host does there.
    count:        in how many blocks this place ends up.
    """

    kind: str
    file: str
    line: int
    function: str
    message: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Summary:
    """Sizes of a program after the passes: what a build would compile and emit."""

    entries: int
    states: int
    blocks: int
    decisions: int
    loops: int
    subgraphs: int
    instances: int


@dataclass(frozen=True, slots=True)
class Report:
    """What ``explain`` found. ``str(report)`` is the text for people.

    summary:  None when there are problems.
    cuts:     in source order.
    problems: every reason why the model cannot be built; empty when it can.
    """

    summary: Summary | None
    cuts: tuple[Cut, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        if self.problems:
            return render_problems(self.problems)
        lines = [_render_cut(cut, number) for number, cut in enumerate(self.cuts, 1)]
        return "\n".join([*lines, *_render_summary(self.summary)])


def report_program(program: Program) -> Report:
    """The report of a program that has been through the passes."""
    counts: dict[tuple[str, str, int, str, str], int] = {}
    for function in program.functions:
        for block in function.blocks:
            for kind, location, message in _cuts_of(block):
                key = (kind, location.file, location.line, location.function, message)
                counts[key] = counts.get(key, 0) + 1
    cuts = [Cut(*key, count=count) for key, count in counts.items()]
    return Report(summarise(program), tuple(sorted(cuts, key=lambda c: (c.file, c.line, c.kind))))


def summarise(program: Program) -> Summary:
    blocks = [block for function in program.functions for block in function.blocks]
    return Summary(
        entries=len(program.entries),
        states=len(program.states),
        blocks=len(blocks),
        decisions=sum(isinstance(block.terminator, Branch) for block in blocks),
        loops=sum(block.is_loop_head for block in blocks),
        subgraphs=len(program.subgraphs),
        instances=len(instances(program)),
    )


def _cuts_of(block: Block) -> Iterator[tuple[str, Location, str]]:
    if block.is_loop_head:
        yield "loop", block.location, "a loop of the host program"
    for op in block.operations:
        if isinstance(op, HostOp) and op.opcode in _NOTABLE_HOST_OPS:
            kind, message = _NOTABLE_HOST_OPS[op.opcode]
            yield kind, op.location, message
        if isinstance(op, HostOp) and op.opcode == HOST_CALL:
            yield "call", op.location, f"the host calls {op.attributes[0]}"
    end = block.terminator
    if isinstance(end, Branch):
        what = "values" if end.kind == "data" else "the extents"
        yield "decision", end.location, f"a decision that depends on {what} of tensors"
    elif isinstance(end, Raise):
        yield "raise", end.location, f"the host raises {end.exception}"


def _render_cut(cut: Cut, number: int) -> str:
    times = f" ({cut.count} blocks)" if cut.count > 1 else ""
    head = f"{number}. {cut.kind}: {cut.file}:{cut.line}: {cut.message}{times}"
    source = linecache.getline(cut.file, cut.line).strip()
    return f"{head}\n     {source}" if source else head


def _render_summary(summary: Summary | None) -> list[str]:
    if summary is None:
        return []
    words = {"entries": "entry", "states": "state", "blocks": "block", "decisions": "decision", "loops": "loop"}
    counts = [(getattr(summary, many), one, many) for many, one in words.items()]
    sizes = [f"{count} {one if count == 1 else many}" for count, one, many in counts]
    return [", ".join([*sizes, f"{summary.instances} subgraph calls of {summary.subgraphs} different subgraphs"])]
