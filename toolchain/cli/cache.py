"""``toolchain cache``: the store of compiled modules."""

from __future__ import annotations

from pathlib import Path

import click

from toolchain.cli.output import json_option, show, table
from toolchain.lowering.cache import Cache


@click.command()
@click.option("--clear", is_flag=True, help="Remove every module.")
@click.option("--prune", type=click.IntRange(min=0), metavar="BYTES", help="Remove the longest unused beyond BYTES.")
@click.option("--cache-dir", type=click.Path(file_okay=False, path_type=Path), help="Another store than the user's.")
@json_option
def cache(clear: bool, prune: int | None, cache_dir: Path | None, as_json: bool) -> None:
    """Shows or empties the store of compiled modules."""
    if clear and prune is not None:
        raise click.UsageError("--clear and --prune exclude each other")
    store = Cache(cache_dir)
    limit = 0 if clear else prune
    removed = 0 if limit is None else store.prune(limit)
    info = store.info()
    payload = {"directory": str(info.directory), "entries": info.entries, "bytes": info.bytes, "removed": removed}
    rows = [("modules", info.entries), ("bytes", info.bytes), *([("removed", removed)] if limit is not None else [])]
    show(as_json, payload, table(("cache", str(info.directory)), rows))
