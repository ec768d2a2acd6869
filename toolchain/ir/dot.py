"""Control-flow graphs for Graphviz."""

from __future__ import annotations

import linecache
from collections.abc import Iterator

from toolchain.ir.ops import Branch, Jump
from toolchain.ir.printer import print_operation
from toolchain.ir.program import Block, Function, Program
from toolchain.ir.values import UNKNOWN_LOCATION, Location


def to_dot(program: Program) -> str:
    """One cluster per function, one box per block with its operations and source lines.

    Loop heads have a double border; the two ways out of a branch are labelled true and false.
    """
    lines = [f"digraph {_quoted(program.name)} {{", '  node [shape=box, fontname="monospace"];']
    for index, function in enumerate(program.functions):
        lines += (f"  {line}" for line in _cluster(index, function))
    return "\n".join([*lines, "}"]) + "\n"


def _cluster(index: int, function: Function) -> Iterator[str]:
    yield f"subgraph cluster_{index} {{"
    yield f"  label={_quoted(function.name)};"
    for block in function.blocks:
        peripheries = ", peripheries=2" if block.is_loop_head else ""
        yield f"  {_node(index, block.id)} [label={_label(block)}{peripheries}];"
    for block in function.blocks:
        for target, attributes in _ways_out(block):
            yield f"  {_node(index, block.id)} -> {_node(index, target)}{attributes};"
    yield "}"


def _ways_out(block: Block) -> Iterator[tuple[int, str]]:
    match block.terminator:
        case Jump(edge=edge):
            yield edge.target, ""
        case Branch(then=then, orelse=orelse):
            yield then.target, ' [label="true"]'
            yield orelse.target, ' [label="false"]'


def _node(function: int, block: int) -> str:
    return f"f{function}_b{block}"


def _label(block: Block) -> str:
    parameters = ", ".join(f"{p}: {p.type}" for p in block.parameters)
    lines = [f"^{block.id}({parameters})", *_source(block)]
    lines += [print_operation(node) for node in (*block.operations, block.terminator)]
    # \l ends a left-aligned line.
    return _quoted("".join(f"{line}\n" for line in lines)).replace("\n", "\\l")


def _source(block: Block) -> Iterator[str]:
    """The user's lines behind the block, each once, in order of their first operation."""
    nodes = (block, *block.operations, block.terminator)
    locations = dict.fromkeys((n.location.file, n.location.line) for n in nodes if n.location != UNKNOWN_LOCATION)
    for file, line in locations:
        yield f"# {source_line(Location(file, line))}"


def source_line(location: Location) -> str:
    """``model.py:88  if conf > thr:``; without the text where the file cannot be read."""
    name = location.file.rsplit("/", 1)[-1]
    return f"{name}:{location.line}  {linecache.getline(location.file, location.line).strip()}".rstrip()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
