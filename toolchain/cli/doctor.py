"""``toolchain doctor``: what this machine lacks for building and running."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from toolchain.cli.output import json_option, show, table
from toolchain.environment import check_environment

ENVIRONMENT = 5


@click.command()
@click.option("--cache-dir", type=click.Path(path_type=Path), help="Another store than the user's.")
@click.option("--iree-compile", type=click.Path(path_type=Path), help="Another iree-compile.")
@json_option
def doctor(cache_dir: Path | None, iree_compile: Path | None, as_json: bool) -> int:
    """Checks what this machine lacks.

    Python, PyTorch, torch-mlir, IREE, the processor and the cache.
    """
    checks = check_environment(cache_dir, iree_compile)
    ok = all(check.ok for check in checks)
    rows = [(check.name, check.code or "ok", check.found) for check in checks]
    remedies = [f"{check.name}: {check.remedy}" for check in checks if not check.ok]
    text = "\n".join([table(("requirement", "", "found"), rows), *remedies])
    show(as_json, {"ok": ok, "checks": [asdict(check) for check in checks]}, text)
    return 0 if ok else ENVIRONMENT
