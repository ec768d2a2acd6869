"""What a subgraph call and a decision cost in the C++ host, beyond IREE's own invoke.

    python benchmarks/cpp_overhead.py IREE_PREFIX

IREE_PREFIX is where IREE's runtime of the installed compiler's version is installed. Prints microseconds, each the best
of several interleaved rounds. The contract: at most 1 us for a call and a decision.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import toolchain
from toolchain.cli.modelfile import load_model_file

SOURCE = Path(__file__).parent / "cpp"


def main(prefix: Path) -> None:
    file = load_model_file(str(SOURCE / "tiny.py"))
    with tempfile.TemporaryDirectory() as folder:
        bundle = toolchain.build(file.module, file.examples, hosts=("cpp",), out=Path(folder, "tiny.bundle")).path
        build = Path(folder, "build")
        package = f"-DIREERuntime_DIR={prefix.resolve() / 'lib/cmake/IREE'}"
        settings = (package, "-DCMAKE_BUILD_TYPE=Release", f"-DBUNDLE={bundle}")
        subprocess.run(["cmake", "-S", SOURCE, "-B", build, *settings], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([build / "overhead", bundle], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
