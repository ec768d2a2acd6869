"""The samples against PyTorch eager, TorchScript, torch.compile and ONNX Runtime, in one interleaved run.

    python -m benchmarks.bench [SAMPLE ...] [--quick] [--peers NAME ...] [--threads N] [--json FILE] [--picture FILE]

Every sample is measured in a process of its own, at batch 1, on one input for each path. Prints a table; a ratio is
eager's time divided by the peer's: higher is better.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from pathlib import Path

from benchmarks.measure import Limits, Result, measure
from benchmarks.peers import PEERS
from benchmarks.picture import draw
from benchmarks.table import print_table

# DyCL's nine subjects.
NINE = (
    *("mobilenet_sdn", "vgg16_sdn", "resnet56_sdn", "wideresnet32_4_sdn", "skipnet_rnn", "skipnet_ff"),
    *("caption_resnext_attention", "caption_googlenet_lstm", "blockdrop110"),
)
QUICK = Limits(paths=2, seconds=4.0, compile_seconds=20.0)
FULL = Limits(paths=4, seconds=12.0, compile_seconds=40.0)


def main() -> None:
    options = _arguments()
    limits = QUICK if options.quick else FULL
    results = []
    for result in _measure_all(options.samples or NINE, options.threads, options.bundles, limits, options.peers):
        results.append(result)
        if options.json:
            _write(results, options.json)
    print_table(results)
    if options.picture:
        draw(results, options.picture)


def _write(results: Sequence[Result], path: Path) -> None:
    rows = [asdict(row) for result in results for row in result.rows]
    skipped = {result.subject: result.skipped for result in results}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"rows": rows, "skipped": skipped}, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", nargs="*", help="names of samples; by default DyCL's nine subjects")
    parser.add_argument("--quick", action="store_true", help="fewer paths and repetitions")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS), help="eager is always among them")
    parser.add_argument("--threads", type=int, default=1, help="of the peers; the bundle's host uses one")
    parser.add_argument("--bundles", type=Path, default=Path("build/bench"), help="where bundles are kept")
    parser.add_argument("--json", type=Path, help="also writes the numbers to this file")
    parser.add_argument("--picture", type=Path, help="also draws the ratios, as SVG or PNG")
    return parser.parse_args()


def _measure_all(
    samples: Sequence[str], threads: int, bundles: Path, limits: Limits, peers: Sequence[str]
) -> Iterator[Result]:
    # The number of threads must be set before the libraries start theirs, so processes are spawned, not forked.
    os.environ["OMP_NUM_THREADS"] = str(threads)
    for sample in samples:
        print(f"{sample} ...", flush=True)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            try:
                yield pool.submit(measure, sample, threads, bundles, limits, peers).result()
            except BrokenProcessPool:
                yield Result(sample, (), {"all": "the process died"})


if __name__ == "__main__":
    main()
