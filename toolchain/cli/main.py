"""The ``toolchain`` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from toolchain.cli.build import build
from toolchain.cli.cache import cache
from toolchain.cli.doctor import doctor
from toolchain.cli.explain import explain
from toolchain.cli.inspect import inspect
from toolchain.cli.output import show_error
from toolchain.cli.run import run
from toolchain.cli.targets import targets
from toolchain.cli.verify import verify

ABORTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="dynn-toolchain", prog_name="toolchain")
def cli() -> None:
    """Deploys PyTorch models whose control flow depends on data, as IREE modules and a small host program.

    \b
    Exit codes: 0 ok, 1 failure, 2 usage, 3 model not supported, 4 verification mismatch, 5 environment.
    """


for verb in (build, run, verify, inspect, explain, targets, doctor, cache):
    cli.add_command(verb)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit code. Nothing escapes but ``SystemExit`` and a second interrupt."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        # A verb returns its exit code, or None for success.
        return cli.main(arguments, prog_name="toolchain", standalone_mode=False) or 0
    except click.Abort:
        click.echo("interrupted", err=True)
        return ABORTED
    except Exception as error:
        return show_error(error, as_json="--json" in arguments)
