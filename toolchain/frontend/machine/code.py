"""Static analysis of code objects: control flow, loops, post-dominators, liveness of locals."""

from __future__ import annotations

import dis
from dataclasses import dataclass
from functools import cache, cached_property
from types import CodeType

import networkx as nx

EXIT = -1

_CONDITIONAL = frozenset(
    [
        "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_FORWARD_IF_TRUE",
        "POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE",
        "POP_JUMP_BACKWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE", "FOR_ITER", "SEND",
    ]
)  # fmt: skip
_UNCONDITIONAL = frozenset(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"))
_ENDS = frozenset(("RETURN_VALUE", "RAISE_VARARGS", "RERAISE"))


@dataclass(frozen=True, slots=True)
class Instruction:
    opname: str
    arg: int
    argval: object
    target: int
    line: int
    column: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Handler:
    """An entry of the exception table, in instruction numbers."""

    start: int
    end: int
    target: int
    depth: int
    push_lasti: bool


class CodeInfo:
    """What the machine knows about a code object. Instructions are numbered from 0; inline caches do not count."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        raw = list(dis.get_instructions(code, show_caches=False))
        number = {i.offset: n for n, i in enumerate(raw)}
        instructions: list[Instruction] = []
        for i in raw:
            instructions.append(
                self._instruction(i, number, instructions[-1].line if instructions else code.co_firstlineno)
            )
        self.instructions = tuple(instructions)
        ends = {i.offset: n for n, i in enumerate(raw)}

        def at(offset: int) -> int:
            while offset not in ends and offset < len(code.co_code):
                offset += 2
            return ends.get(offset, len(raw))

        table = dis._parse_exception_table(code)  # type: ignore[attr-defined]
        self.handlers = tuple(Handler(at(e.start), at(e.end), at(e.target), e.depth, e.lasti) for e in table)
        self.locals_count = (
            len(code.co_varnames)
            + len([c for c in code.co_cellvars if c not in code.co_varnames])
            + len(code.co_freevars)
        )

    @staticmethod
    def _instruction(raw: dis.Instruction, number: dict[int, int], line_before: int) -> Instruction:
        is_jump = raw.opcode in dis.hasjrel or raw.opcode in dis.hasjabs
        where = raw.positions
        line = (where.lineno if where else None) or line_before
        column = (where.col_offset if where else None) or 0
        end = (where.end_col_offset if where and where.end_lineno == where.lineno else None) or column
        target = number[raw.argval] if is_jump else EXIT
        return Instruction(raw.opname, raw.arg or 0, raw.argval, target, line, column, end)

    def handler_at(self, pc: int) -> Handler | None:
        return next((h for h in self.handlers if h.start <= pc < h.end), None)

    def successors(self, pc: int) -> tuple[int, ...]:
        """Where control can go from instruction ``pc``, exceptions aside."""
        instruction = self.instructions[pc]
        if instruction.opname in _ENDS:
            return ()
        if instruction.opname in _UNCONDITIONAL:
            return (instruction.target,)
        following = (pc + 1,) if pc + 1 < len(self.instructions) else ()
        return (*following, instruction.target) if instruction.opname in _CONDITIONAL else following

    @cached_property
    def _graph(self) -> nx.DiGraph:
        graph = nx.DiGraph()
        for pc in range(len(self.instructions)):
            graph.add_node(pc)
            for successor in self.successors(pc):
                graph.add_edge(pc, successor)
            handler = self.handler_at(pc)
            if handler is not None:
                graph.add_edge(pc, handler.target)
        return graph

    @cached_property
    def joins(self) -> frozenset[int]:
        """Instructions that control can reach in more than one way; entries of exception handlers included."""
        count: dict[int, int] = {}
        for pc in range(len(self.instructions)):
            for successor in self.successors(pc):
                count[successor] = count.get(successor, 0) + 1
        return frozenset({pc for pc, n in count.items() if n > 1} | {h.target for h in self.handlers})

    @cached_property
    def heads(self) -> dict[int, frozenset[int]]:
        """Loop heads, each with the instructions of its loop."""
        loops: dict[int, set[int]] = {}
        for pc, instruction in enumerate(self.instructions):
            backward = instruction.opname == "JUMP_BACKWARD" or "BACKWARD_IF" in instruction.opname
            if backward:
                loops.setdefault(instruction.target, set()).update(self._natural_loop(instruction.target, pc))
        return {head: frozenset(body) for head, body in loops.items()}

    def _natural_loop(self, head: int, latch: int) -> set[int]:
        body, work = {head}, [latch]
        while work:
            pc = work.pop()
            if pc not in body:
                body.add(pc)
                work.extend(self._graph.predecessors(pc))
        return body

    @cached_property
    def _postdominators(self) -> dict[int, int]:
        reverse = nx.DiGraph()
        reverse.add_node(EXIT)
        for pc in range(len(self.instructions)):
            successors = self.successors(pc)
            for successor in successors or (EXIT,):
                reverse.add_edge(successor, pc)
        return dict(nx.immediate_dominators(reverse, EXIT))

    def closes_at(self, pc: int) -> int:
        """The instruction where the paths from a decision at ``pc`` meet again, or EXIT."""
        return self._postdominators.get(pc, EXIT)

    @cached_property
    def live(self) -> tuple[frozenset[int], ...]:
        """Per instruction the locals that may still be read (cells and free variables always are, and so is the first
        argument where ``super()`` without arguments may look at it)."""
        code = self.code
        cells = frozenset(
            n for n in range(self.locals_count) if n >= len(code.co_varnames) or code.co_varnames[n] in code.co_cellvars
        ) | ({0} if "__class__" in code.co_freevars and code.co_argcount else frozenset())
        live: list[set[int]] = [set() for _ in self.instructions]
        work = list(range(len(self.instructions)))
        while work:
            pc = work.pop()
            out: set[int] = set()
            handler = self.handler_at(pc)
            for successor in (*self.successors(pc), *((handler.target,) if handler else ())):
                out |= live[successor]
            instruction = self.instructions[pc]
            if instruction.opname in ("STORE_FAST", "DELETE_FAST"):
                out.discard(instruction.arg)
            if instruction.opname in ("LOAD_FAST", "DELETE_FAST"):
                out.add(instruction.arg)
            if out != live[pc]:
                live[pc] = out
                work.extend(self._graph.predecessors(pc))
        return tuple(frozenset(names) | cells for names in live)

    def live_at(self, pc: int, current: int) -> frozenset[int]:
        """The locals that a frame may still read. While instruction ``current`` waits for a call, ``pc`` is behind it,
        but control can also go to its other successors (the end of a ``for``) and to its handler."""
        if pc == current:
            return self.live[pc]
        handler = self.handler_at(current)
        ways = {
            *self.successors(current),
            *((handler.target,) if handler else ()),
            *((pc,) if pc < len(self.live) else ()),
        }
        return frozenset().union(*(self.live[way] for way in ways))


@cache
def code_info(code: CodeType) -> CodeInfo:
    return CodeInfo(code)
