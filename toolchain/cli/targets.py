"""``toolchain targets``: the names that ``--target`` takes."""

from __future__ import annotations

from dataclasses import asdict

import click

from toolchain.cli.output import json_option, show, table
from toolchain.lowering.targets import list_targets


@click.command()
@json_option
def targets(as_json: bool) -> None:
    """Lists the targets to build for."""
    infos = list_targets()
    rows = [(info.name, info.description) for info in infos]
    show(as_json, {"targets": [asdict(info) for info in infos]}, table(("target", "stands for"), rows))
