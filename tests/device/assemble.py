"""The PTX of CUDA modules through NVIDIA's assembler."""

from __future__ import annotations

import tempfile
from pathlib import Path

import toolchain
from toolchain.cli.modelfile import load_model_file
from toolchain.lowering.ptx import assemble, extract_ptx

SAMPLES = Path(__file__).parents[2] / "samples"
# Code for the first of them is good for the others: Orin and Hopper.
ARCHITECTURES = ("sm_80", "sm_87", "sm_90")


def assemble_all(folder: Path, ptxas: Path, architectures: tuple[str, ...] = ARCHITECTURES) -> int:
    """Assembles every text of every module in ``folder``; returns how many texts there were."""
    texts = [text for module in sorted(folder.rglob("*.vmfb")) for text in extract_ptx(module.read_bytes())]
    for text in texts:
        for architecture in architectures:
            assemble(text, architecture, ptxas)
    return len(texts)


def assemble_sample(name: str, ptxas: Path) -> int:
    """As ``assemble_all``, for the modules of a sample."""
    file = load_model_file(str(SAMPLES / f"{name}.py"))
    with tempfile.TemporaryDirectory() as folder:
        bundle = toolchain.build(file.module, file.examples, targets=("cuda",), out=Path(folder) / "net.bundle")
        return assemble_all(bundle.path, ptxas)
