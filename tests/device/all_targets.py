"""Samples for every kind of target, with every host, each in one build.

    python -m tests.device.all_targets FOLDER [SAMPLE...]

leaves the bundles of all samples (or of the named ones) in FOLDER, assembles their PTX, and prints a line for each.
What the VM host cannot express is built without it, and said.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import toolchain
from tests.device.assemble import ARCHITECTURES, SAMPLES, assemble_all
from toolchain.cli.modelfile import ModelFile, load_model_file
from toolchain.diagnostics import UnsupportedModelError
from toolchain.lowering.ptx import find_ptxas

TARGETS = ("cpu", "vulkan", "cuda:sm_80", "cuda:sm_87")
HOSTS = ("python", "cpp", "vm")


@dataclass(frozen=True, slots=True)
class Built:
    """seconds: of the build. archives: files of weights. texts: of PTX, each assembled for several architectures."""

    seconds: float
    archives: int
    texts: int
    refused: str

    def __str__(self) -> str:
        refused = f", without the VM host: {self.refused}" if self.refused else ""
        return f"{self.seconds:.0f} s, {self.archives} weight archive(s), {self.texts} PTX texts assembled{refused}"


def build_everywhere(name: str, folder: Path) -> Built:
    """Raises ``ToolchainError`` if the sample does not build, or its PTX does not assemble."""
    file, out, start = load_model_file(str(SAMPLES / f"{name}.py")), folder / f"{name}.bundle", time.perf_counter()
    refused = ""
    try:
        _build(file, out, HOSTS)
    except UnsupportedModelError as error:
        refused = error.message
        _build(file, out, HOSTS[:-1])
    seconds = time.perf_counter() - start
    texts = sum(
        assemble_all(out / "modules" / target.replace(":", "-"), find_ptxas(), ARCHITECTURES[n:])
        for n, target in enumerate(TARGETS[2:])
    )
    return Built(seconds, len(list(out.rglob("*.irpa"))), texts, refused)


def _build(file: ModelFile, out: Path, hosts: tuple[str, ...]) -> None:
    toolchain.build(file.module, file.examples, targets=TARGETS, hosts=hosts, out=out)


def main(folder: Path, names: list[str]) -> int:
    """Returns how many samples failed."""
    samples = names or [p.stem for p in sorted(SAMPLES.glob("*.py")) if "def model()" in p.read_text()]
    failed = 0
    for name in samples:
        try:
            print(name, build_everywhere(name, folder), flush=True)
        except toolchain.ToolchainError as error:
            failed += 1
            print(name, "FAILED", error.code, error.message, flush=True)
    print(f"{len(samples) - failed} of {len(samples)} samples built for {', '.join(TARGETS)}")
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
