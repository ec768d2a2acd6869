"""``toolchain explain``: where a model would be cut, and every problem; nothing is compiled."""

from __future__ import annotations

from dataclasses import asdict

import click

from toolchain.api import explain as explain_model
from toolchain.cli.modelfile import load_model_file
from toolchain.cli.output import json_option, problem_json, show

NOT_SUPPORTED = 3


@click.command()
@click.argument("model", metavar="MODEL.py[:FACTORY]")
@json_option
def explain(model: str, as_json: bool) -> int:
    """Lists every cut and every problem of a model.

    Nothing is compiled. The exit code is 3 when there are problems.
    """
    file = load_model_file(model)
    report = explain_model(file.module, file.examples)
    payload = {
        "ok": report.ok,
        "summary": None if report.summary is None else asdict(report.summary),
        "cuts": [asdict(cut) for cut in report.cuts],
        "problems": [problem_json(problem) for problem in report.problems],
    }
    show(as_json, payload, str(report))
    return 0 if report.ok else NOT_SUPPORTED
