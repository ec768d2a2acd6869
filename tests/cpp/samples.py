"""Builds samples with the C++ host, compiles it without warnings, and runs their recorded calls, also with sanitizers.

    python -m tests.cpp.samples [NAME...]

Prints a row per sample; exits with 1 if one of them fails. All samples take about half an hour.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import toolchain
from tests.cpp.native import IREE_COMPILE, ROOT, SANITIZERS, WARNINGS, build, run
from toolchain.cli.modelfile import load_model_file


def build_sample(name: str, out: Path) -> Path:
    """The bundle of a sample, with modules for the stand-in's runtime."""
    file = load_model_file(str(ROOT / "samples" / f"{name}.py"))
    options = toolchain.BuildOptions(iree_compile=IREE_COMPILE)
    return toolchain.build(file.module, file.examples, hosts=("cpp",), out=out, options=options).path


def run_recorded_calls(bundle: Path, folder: Path, flags: str, compiler: str = "g++") -> str:
    """What the program says about its recorded calls; fails unless all are as eager PyTorch's, or need functions."""
    build(bundle / "host/cpp", folder, flags, compiler)
    [program] = folder.glob("*_run")
    done = run((program, bundle, "--tests"))
    assert done.returncode == 0 or done.stderr.startswith("[RT107]"), done.stdout + done.stderr
    return done.stdout


def main(names: list[str]) -> int:
    failed = 0
    for name in names or sorted(path.stem for path in (ROOT / "samples").glob("[a-z]*.py")):
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            try:
                bundle = build_sample(name, root / "net.bundle")
                said = run_recorded_calls(bundle, root / "plain", WARNINGS)
                run_recorded_calls(bundle, root / "checked", f"{WARNINGS} {SANITIZERS}")
                outcome = f"{said.count(': ok')} calls as eager, clean"
            except (AssertionError, toolchain.ToolchainError) as error:
                failed += 1
                outcome = f"FAILED\n{error}"
        print(f"{name:28} {time.perf_counter() - start:6.0f} s  {outcome}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
