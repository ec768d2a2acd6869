"""The ratios as a bar chart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

from benchmarks.measure import Result, Row
from benchmarks.peers import PEERS
from benchmarks.table import geometric_mean, ours


def draw(results: Sequence[Result], path: Path) -> None:
    """One group of bars for each sample: the geometric mean over its paths. Wrong peers are hatched."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    results = [result for result in results if result.rows]
    names = ["ours", *(name for name in PEERS if name != "eager")]
    figure, axes = pyplot.subplots(figsize=(11, 4.5), layout="constrained")
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        bars = axes.bar(
            [group + i * width for group in range(len(results))],
            [_mean(result.rows, name) for result in results],
            width,
            label=name,
        )
        for bar, result in zip(bars, results, strict=True):
            bar.set_hatch("" if _right(result.rows, name) else "////")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_ylabel("times as fast as eager (hatched: wrong)")
    axes.set_xticks([group + 0.4 - width / 2 for group in range(len(results))], [r.subject for r in results])
    axes.tick_params(axis="x", rotation=30)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _mean(rows: Sequence[Row], name: str) -> float:
    if name == "ours":
        return geometric_mean([ours(row) for row in rows])
    ratios = [row.peers[name].ratio for row in rows if name in row.peers]
    return geometric_mean(ratios) if ratios else 0


def _right(rows: Sequence[Row], name: str) -> bool:
    return name == "ours" or all(row.peers[name].right for row in rows if name in row.peers)
