"""``toolchain targets``: the names that ``--target`` takes, and what this machine makes of them."""

from __future__ import annotations

from dataclasses import asdict

import click

from toolchain.cli.output import json_option, show, table


@click.command()
@json_option
def targets(as_json: bool) -> None:
    """Lists the targets to build for, and whether this machine compiles for them and runs them."""
    # Devices are found by IREE's runtime, which no other light verb needs.
    from toolchain.availability import survey

    found = survey()
    answers = {True: "yes", False: "no", None: "?"}
    rows = [(t.name, answers[t.compiles], answers[t.runs], t.description) for t in found]
    devices = dict.fromkeys(f"{t.name.partition(':')[0]}: {t.device}" for t in found)
    text = "\n".join([table(("target", "compiles", "runs", "stands for"), rows), "", *devices])
    show(as_json, {"targets": [asdict(t) for t in found]}, text)
