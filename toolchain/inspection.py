"""What is in a bundle, read from its manifest alone: needs neither torch nor IREE."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runtime_py.format import BlockSummary, FunctionSummary, HostCall, Manifest, ValueType
from runtime_py.host_calls import kind_of_type
from runtime_py.integrity import read_manifest


@dataclass(frozen=True, slots=True)
class Inspection:
    """A bundle's sizes.

    executables: distinct compiled modules per target.
    subgraphs:   modules with their weights bound, as the host calls them.
    blocks, decisions, loops: of the control-flow graphs of all entries and states.
    host_lines:  lines of the first host program, Python's where there is one.
    bytes:       of all files; of these ``weight_bytes`` in the weight archive.
    """

    manifest: Manifest
    executables: int
    subgraphs: int
    blocks: int
    decisions: int
    loops: int
    host_lines: int
    bytes: int
    weight_bytes: int


def inspect_bundle(bundle: Path) -> Inspection:
    """Reads the manifest alone, without checking the other files. Raises ``runtime_py.errors.BundleError``."""
    manifest = read_manifest(bundle)
    blocks = [block for function in manifest.functions for block in function.blocks]
    python_first = sorted(manifest.hosts, key=lambda host: host.name != "python")
    return Inspection(
        manifest=manifest,
        executables=max((sum(t in m.files for m in manifest.modules) for t in manifest.targets), default=0),
        subgraphs=len(manifest.instances),
        blocks=len(blocks),
        decisions=sum(block.terminator == "branch" for block in blocks),
        loops=sum(block.is_loop_head for block in blocks),
        host_lines=python_first[0].lines if python_first else 0,
        bytes=sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file()),
        weight_bytes=manifest.params.size if manifest.params else 0,
    )


def describe_block(block: BlockSummary) -> tuple[str, str, str, str]:
    """A row for people: block, the user's line, what runs there, where it goes."""
    place = f"{block.place.file}:{block.place.line}"
    place += f" in {block.place.function}" if block.place.function else ""
    match block.terminator, block.edges:
        case "branch", (then, orelse):
            goes = f"{then} if true, {orelse} if false" + (" (size)" if block.kind == "size" else "")
        case "jump", (target,):
            goes = str(target)
        case terminator, _:
            goes = terminator
    name = f"{block.id}{' (loop)' if block.is_loop_head else ''}"
    return name, place, " ".join(map(str, block.calls)), goes


def describe_host_call(call: HostCall) -> tuple[str, str, str]:
    """A row for people: the function, what it gets, what it has to give."""
    prefixes = [""] * (len(call.parameters) - len(call.keywords)) + [f"{keyword}=" for keyword in call.keywords]
    takes = ", ".join(f"{prefix}{_shown(type)}" for prefix, type in zip(prefixes, call.parameters, strict=True))
    gives = ", ".join(map(_shown, call.results))
    return call.function, takes, gives if call.form == "one" else f"({gives})" if gives else "None"


def _shown(kind: ValueType) -> str:
    if kind.kind == "list":
        return f"list[{', '.join(map(_shown, kind.elements))}]"
    return str(kind_of_type(kind)).replace("none", "None")


def function_title(manifest: Manifest, function: FunctionSummary) -> str:
    entry = manifest.entries[function.entry].name
    return f"{function.name}: entry {entry}, state {function.state}"
