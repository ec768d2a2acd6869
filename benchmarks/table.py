"""Results as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Result, Row
from benchmarks.peers import PEERS


def print_table(results: Sequence[Result]) -> None:
    console = Console(width=120)
    table = Table("sample", "path", "eager ms", "ours ms", "ours", *(n for n in PEERS if n != "eager"), box=None)
    for result in results:
        for row in result.rows:
            table.add_row(*_cells(row, result.skipped))
    console.print(table)
    rows = [row for result in results for row in result.rows]
    if rows:
        console.print(f"geometric mean of ours: {geometric_mean([ours(row) for row in rows]):.2f}")
    for result in results:
        for peer, reason in result.skipped.items():
            console.print(f"{result.subject}: {peer}: {reason}", markup=False)


def _cells(row: Row, skipped: dict[str, str]) -> list[str]:
    eager = row.peers["eager"].ms
    others = [_ratio(row, name) for name in PEERS if name != "eager"]
    return [row.subject, row.path, f"{eager:.2f}", f"{row.us_ms:.2f}", f"{ours(row):.2f}", *others]


def _ratio(row: Row, name: str) -> str:
    peer = row.peers.get(name)
    return "-" if peer is None else f"{peer.ratio:.2f}" if peer.right else f"wrong ({peer.ratio:.2f})"


def ours(row: Row) -> float:
    """Eager's time divided by ours."""
    return row.peers["eager"].ms / row.us_ms


def geometric_mean(numbers: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, numbers)) / len(numbers))
