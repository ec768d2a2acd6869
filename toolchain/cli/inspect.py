"""``toolchain inspect``: what is in a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolchain.cli.output import json_option, show, table
from toolchain.diagnostics import UsageError

if TYPE_CHECKING:
    from toolchain.inspection import Inspection


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("--cfg", "stored", flag_value="debug/cfg.txt", help="Print the control-flow graph as text.")
@click.option("--dot", "stored", flag_value="debug/cfg.dot", help="Print the control-flow graph for Graphviz.")
@json_option
def inspect(bundle: Path, stored: str | None, as_json: bool) -> None:
    """Shows what is in a bundle.

    Its sizes and, for every block, its source line, what it calls and where it goes.
    """
    # Not at the top: it brings in the runtime, which `toolchain --help` need not wait for.
    from toolchain.inspection import inspect_bundle

    inspection = inspect_bundle(bundle)
    if stored is not None:
        text = _stored_text(bundle, stored)
        show(as_json, {"path": stored, "text": text}, text)
    else:
        show(as_json, _json(inspection), _text(inspection))


def _stored_text(bundle: Path, stored: str) -> str:
    path = bundle / stored
    if not path.is_file():
        raise UsageError("TC226", f"{bundle} holds no {stored}", "build it with --debug")
    return path.read_text().rstrip("\n")


def _json(inspection: Inspection) -> dict[str, object]:
    from toolchain.inspection import describe_host_call

    manifest = inspection.manifest
    names = ("executables", "subgraphs", "blocks", "decisions", "loops", "host_lines", "bytes", "weight_bytes")
    return {name: getattr(inspection, name) for name in names} | {
        "name": manifest.name,
        "targets": manifest.targets,
        "hosts": {host.name: host.lines for host in manifest.hosts},
        "entries": [entry.name for entry in manifest.entries],
        "states": len(manifest.states),
        "tests": [test.name for test in manifest.tests],
        "host_calls": [
            dict(zip(("function", "takes", "gives"), describe_host_call(call), strict=True))
            for call in manifest.host_calls
        ],
    }


def _text(inspection: Inspection) -> str:
    from toolchain.inspection import describe_block, describe_host_call, function_title

    manifest = inspection.manifest
    rows = (
        ("targets", ", ".join(manifest.targets)),
        ("hosts", ", ".join(f"{host.name} ({host.lines} lines)" for host in manifest.hosts)),
        ("executables", inspection.executables),
        ("subgraphs", inspection.subgraphs),
        ("blocks", inspection.blocks),
        ("decisions", inspection.decisions),
        ("loops", inspection.loops),
        ("bytes", f"{inspection.bytes} ({inspection.weight_bytes} of weights)"),
    )
    parts = [table(("bundle", manifest.name), rows)]
    if manifest.host_calls:
        parts.append(table(("host call", "takes", "gives"), [*map(describe_host_call, manifest.host_calls)]))
    for function in manifest.functions:
        blocks = [describe_block(block) for block in function.blocks]
        parts.append(f"{function_title(manifest, function)}\n{table(('block', 'source', 'calls', 'goes to'), blocks)}")
    return "\n\n".join(parts)
