"""``toolchain run``: the recorded calls of a bundle, or one call with arrays from files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolchain.cli.modelfile import import_file
from toolchain.cli.output import json_option, show
from toolchain.diagnostics import UsageError

if TYPE_CHECKING:
    from toolchain.replay import Outcome

HEAD = 5
MISMATCH = 4


@click.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--input", "inputs", multiple=True, type=click.Path(path_type=Path), help="A .npy file; one per argument."
)
@click.option(
    "--model", type=click.Path(path_type=Path), help="The model file, if it has functions that the bundle calls."
)
@click.option("--target", help="The bundle's target to run  [default: the best for this machine]")
@json_option
def run(bundle: Path, inputs: tuple[Path, ...], model: Path | None, target: str | None, as_json: bool) -> int:
    """Runs a bundle.

    On the calls that were recorded in eager PyTorch when it was built, or on one call with arrays from files. The exit
    code is 4 when a recorded call does something else.
    """
    # Not at the top: it brings in NumPy and IREE, which `toolchain --help` need not wait for.
    from toolchain.replay import replay, run_once

    if model is not None:
        import_file(model)  # from now on its functions are found by name
    outcomes = (run_once(bundle, _arrays(inputs), target),) if inputs else replay(bundle, target)
    show(as_json, {"calls": [_json(outcome) for outcome in outcomes]}, "\n".join(_text(outcomes)))
    return MISMATCH if any(outcome.matches is False for outcome in outcomes) else 0


def _arrays(paths: tuple[Path, ...]) -> list[Any]:
    import numpy as np

    try:
        return [np.load(path, allow_pickle=False) for path in paths]
    except (OSError, ValueError, EOFError) as error:
        raise UsageError("TC227", f"an input cannot be read: {error}", "write it with numpy.save") from error


def _json(outcome: Outcome) -> dict[str, object]:
    return {
        "outputs": [_leaf_json(place, leaf) for place, leaf in _values(outcome)],
        "exception": outcome.exception,
        "printed": outcome.printed,
        "matches": outcome.matches,
    }


def _leaf_json(place: str, leaf: Any) -> dict[str, object]:
    if not hasattr(leaf, "dtype"):
        return {"place": place, "value": leaf if isinstance(leaf, (bool, int, float, str, type(None))) else repr(leaf)}
    return {"place": place, "dtype": str(leaf.dtype), "shape": leaf.shape, "head": leaf.ravel()[:HEAD].tolist()}


def _values(outcome: Outcome) -> list[tuple[str, Any]]:
    from toolchain.replay import leaves

    return [(place, leaf) for place, leaf in leaves(outcome.result) if not place.endswith(">")]


def _text(outcomes: tuple[Outcome, ...]) -> list[str]:
    verdicts = {True: ": as recorded", False: ": DIFFERENT from what was recorded", None: ""}
    lines = []
    for number, outcome in enumerate(outcomes):
        lines.append(f"call {number}{verdicts[outcome.matches]}")
        lines += [f"  prints {line}" for line in outcome.printed.splitlines()]
        if outcome.exception is not None:
            lines.append("  raises " + ": ".join(outcome.exception))
        else:
            lines += [f"  result{place}: {_shown(leaf)}" for place, leaf in _values(outcome)]
    return lines


def _shown(leaf: Any) -> str:
    if not hasattr(leaf, "dtype"):
        return repr(leaf)
    head = " ".join(f"{x:.5g}" if isinstance(x, float) else str(x) for x in leaf.ravel()[:HEAD].tolist())
    return f"{leaf.dtype}{list(leaf.shape)} {head}{' ...' if leaf.size > HEAD else ''}"
