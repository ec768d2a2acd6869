"""``toolchain build``: a model file becomes a bundle."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from toolchain.api import build as build_bundle
from toolchain.cli.modelfile import load_model_file
from toolchain.cli.output import json_option, show, table
from toolchain.cli.progress import progress_display
from toolchain.options import BuildOptions
from toolchain.results import Bundle


@click.command()
@click.argument("model", metavar="MODEL.py[:FACTORY]")
@click.option("--target", "targets", multiple=True, default=("cpu",), show_default=True, help="Repeat for several.")
@click.option("--host", "hosts", multiple=True, default=("python",), show_default=True, help="Repeat for several.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="The bundle to write  [default: MODEL.bundle]")
@click.option("--jobs", type=click.IntRange(min=1), help="Compilations at the same time  [default: one per CPU]")
@click.option("--cache-dir", type=click.Path(file_okay=False, path_type=Path), help="Where compiled modules are kept.")
@click.option("--iree-compile", type=click.Path(dir_okay=False, path_type=Path), help="Another iree-compile.")
@click.option("--debug", is_flag=True, help="Add the control-flow graph to the bundle.")
@json_option
def build(
    model: str,
    targets: tuple[str, ...],
    hosts: tuple[str, ...],
    out: Path | None,
    jobs: int | None,
    cache_dir: Path | None,
    iree_compile: Path | None,
    debug: bool,
    as_json: bool,
) -> None:
    """Builds a bundle from a model file.

    MODEL.py defines model() and example_inputs(); a FACTORY other than model may be named.
    """
    file = load_model_file(model)
    out = out or Path(f"{file.path.stem}.bundle")
    gc.freeze()  # what PyTorch brought along stays: looking at it again and again takes a tenth of a build
    with progress_display() as progress:
        options = BuildOptions(
            jobs=jobs,
            cache_dir=cache_dir,
            debug=debug,
            iree_compile=iree_compile,
            progress=progress,
        )
        bundle = build_bundle(file.module, file.examples, targets, hosts, out, options=options)
    show(as_json, _json(bundle), _text(bundle))


def _json(bundle: Bundle) -> dict[str, object]:
    return {
        "bundle": str(bundle.path),
        "seconds": bundle.seconds,
        "cache_hits": bundle.cache_hits,
        "cache_misses": bundle.cache_misses,
        "targets": bundle.targets,
        "hosts": bundle.hosts,
        "executables": bundle.executables,
        "tests": bundle.tests,
    }


def _text(bundle: Bundle) -> str:
    rows = (
        ("targets", ", ".join(bundle.targets)),
        ("hosts", ", ".join(bundle.hosts)),
        ("executables", bundle.executables),
        ("recorded tests", bundle.tests),
        ("compiled", f"{bundle.cache_misses} ({bundle.cache_hits} from the cache)"),
        ("seconds", f"{bundle.seconds:.1f}"),
    )
    return table(("built", str(bundle.path)), rows)
