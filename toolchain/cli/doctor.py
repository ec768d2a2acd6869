"""``toolchain doctor``: what this machine lacks for building and running."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from toolchain.cli.output import json_option, show, table
from toolchain.environment import check_environment
from toolchain.lowering.cache import default_cache_dir

ENVIRONMENT = 5


@click.command()
@click.option("--cache-dir", type=click.Path(path_type=Path), help="Where compiled modules are kept.")
@json_option
def doctor(cache_dir: Path | None, as_json: bool) -> int:
    """Checks Python, PyTorch, torch-mlir, IREE, the cache and the machine."""
    checks = check_environment(cache_dir or default_cache_dir())
    ok = all(check.ok for check in checks)
    rows = [("ok" if c.ok else f"[{c.code}]", c.name, c.found) for c in checks]
    remedies = dict.fromkeys(f"remedy: {c.remedy}" for c in checks if not c.ok)
    text = "\n".join([table(("", "requirement", "found"), rows), *remedies])
    show(as_json, {"ok": ok, "checks": [asdict(check) for check in checks]}, text)
    return 0 if ok else ENVIRONMENT
