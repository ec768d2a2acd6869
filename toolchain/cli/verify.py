"""``toolchain verify``: a bundle against eager PyTorch, on inputs and on every edge of the control-flow graph."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from toolchain.api import verify as verify_bundle
from toolchain.cli.modelfile import load_model_file
from toolchain.cli.output import json_option, show, table
from toolchain.cli.progress import progress_display
from toolchain.results import Verdict

MISMATCH = 4


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.argument("model", metavar="MODEL.py[:FACTORY]")
@click.option("--random", "random", type=click.IntRange(min=0), default=100, show_default=True, help="Random inputs.")
@click.option(
    "--forced-paths/--no-forced-paths", default=True, show_default=True, help="Force every decision both ways."
)
@click.option("--target", help="The bundle's target to run  [default: the best for this machine]")
@json_option
def verify(bundle: Path, model: str, random: int, forced_paths: bool, target: str | None, as_json: bool) -> int:
    """Compares a bundle with eager PyTorch.

    On the examples of MODEL.py, on random inputs, and on every edge of the control-flow graph.
    """
    file = load_model_file(model)
    with progress_display() as progress:
        verdict = verify_bundle(
            bundle,
            file.module,
            file.examples,
            random,
            forced_paths,
            target=target,
            random_inputs=file.random_inputs,
            progress=progress,
        )
    show(as_json, asdict(verdict), _text(verdict))
    return 0 if verdict.ok else MISMATCH


def _text(verdict: Verdict) -> str:
    margin = "-" if verdict.min_margin is None else f"{verdict.min_margin:.3g}"
    rows: list[tuple[str, object]] = [
        ("inputs", f"{verdict.inputs} ({verdict.excluded} excluded)"),
        ("edges covered", f"{verdict.edges_covered} of {verdict.edges}"),
        ("paths equal", "yes" if verdict.paths_equal else "no"),
        ("largest error", f"{verdict.max_abs_error:.3g}"),
        ("smallest margin", margin),
    ]
    rows += [("infeasible", f"{edge.edge}: {edge.reason}") for edge in verdict.infeasible]
    rows += [("difference", line) for line in verdict.differences]
    return table(("verdict", "equal" if verdict.ok else "DIFFERENT"), rows)
