"""``python -m tests.fuzz``: checks the programs of a range of seeds, minimises what fails, and sums up."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.generator import program_of
from tests.fuzz.minimise import minimise
from tests.fuzz.oracles import OutOfTime, Verdict, at_most, check, check_bundle, check_unmerged

_MAIN = """

if __name__ == "__main__":
    import sys
    from pathlib import Path

    import toolchain

    sys.path.insert(0, str(Path(toolchain.__file__).parents[1]))
    from tests.fuzz.oracles import check

    print(check(Path(__file__).read_text().split("\\n\\nif __name__")[0]))
"""


def main() -> int:
    options = _options()
    seeds = range(*map(int, options.seeds.split(":")))
    found: Counter[tuple[str, str]] = Counter()
    began = time.monotonic()
    for done, seed in enumerate(seeds, 1):
        verdict = _check(program_of(seed), options.timeout)
        if verdict.kind == "right":
            verdict = _check_further(seed, options)
        found[verdict.kind, verdict.place if verdict.kind == "failed" else verdict.detail] += 1
        if verdict.kind == "failed":
            _save(seed, verdict, options)
        if done % 20 == 0 or done == len(seeds):
            failed = sum(n for (kind, _), n in found.items() if kind == "failed")
            print(f"\r{done} of {len(seeds)} programs, {failed} failed", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    _summary(seeds, found, time.monotonic() - began)
    return 1 if any(kind == "failed" for kind, _ in found) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seeds", default="0:2000", help="first and one after the last, as in 0:2000")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of processor time for one program")
    parser.add_argument("--minimise", type=float, default=120.0, help="seconds for making a failure smaller")
    parser.add_argument("--compile", type=int, default=0, metavar="N", help="build and run every N-th program as well")
    parser.add_argument("--hosts", default="python", help="for --compile: python, vm, or both with a comma")
    parser.add_argument(
        "--unmerged", type=int, default=0, metavar="N", help="explore every N-th without merging paths too"
    )
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="where failures are saved")
    return parser.parse_args()


def _check_further(seed: int, options: argparse.Namespace) -> Verdict:
    """What takes longer, for a share of the programs."""
    source = program_of(seed)
    if options.unmerged and seed % options.unmerged == 0:
        verdict = check_unmerged(source, seed)
        if verdict.kind == "failed":
            return verdict
    if options.compile and seed % options.compile == 0:
        with tempfile.TemporaryDirectory() as folder:
            return check_bundle(source, Path(folder), options.hosts.split(","))
    return Verdict("right")


def _check(source: str, seconds: float) -> Verdict:
    try:
        with at_most(seconds):
            return check(source)
    except OutOfTime:
        return Verdict("failed", f"more than {seconds} s", "hang")


def _save(seed: int, verdict: Verdict, options: argparse.Namespace) -> None:
    """Writes a file that fails by itself, as small as there is time for."""
    source = program_of(seed)
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"seed{seed}.py"
    path.write_text(f"# {verdict.place}\n{source}{_MAIN}")
    print(f"\rseed {seed}: {verdict.place} ({path})\n{verdict.detail[-400:]}", flush=True)
    limit = 5.0 if verdict.place == "hang" else options.timeout

    def fails(candidate: str) -> bool:
        other = _check(candidate, limit)
        return (other.kind, other.place) == (verdict.kind, verdict.place)

    if options.minimise:
        path.write_text(f"# {verdict.place}\n{minimise(source, fails, options.minimise)}{_MAIN}")


def _summary(seeds: range, found: Counter[tuple[str, str]], seconds: float) -> None:
    total = max(len(seeds), 1)
    print(f"{len(seeds)} programs, seeds {seeds.start} to {seeds.stop - 1}, {seconds:.0f} s")
    for kind in ("right", "refused", "discarded", "failed"):
        rows = [(detail, n) for (k, detail), n in found.most_common() if k == kind]
        count = sum(n for _, n in rows)
        print(f"{kind:10} {count:6} {100 * count / total:5.1f} %")
        for detail, n in rows:
            if detail:
                print(f"    {n:6}  {detail}")


if __name__ == "__main__":
    sys.exit(main())
