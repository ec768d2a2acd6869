"""Progress on standard error: a live bar on a terminal, one line for each stage elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from toolchain.options import ProgressCallback


@contextmanager
def progress_display() -> Iterator[ProgressCallback]:
    """A callback (stage, done, total) for ``BuildOptions.progress``; the display lasts as long as the context."""
    if not sys.stderr.isatty():
        yield _PlainLines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        yield _Bars(bars)


class _PlainLines:
    """Says when a stage starts; a log with a line for each step would drown everything else."""

    def __init__(self) -> None:
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self._stage = stage
            click.echo(f"{stage} ({total})" if total > 1 else stage, err=True)


class _Bars:
    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage)
        # A bar without a total moves to and fro.
        self._bars.update(self._tasks[stage], completed=done, total=total or None)
