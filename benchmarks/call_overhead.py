"""What a subgraph call and a decision cost in the Python host, beyond IREE's own invoke.

    python benchmarks/call_overhead.py

Prints microseconds, each the best of several interleaved rounds. The contract: at most 10 us for a call and a decision.
"""

from __future__ import annotations

import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import iree.runtime as iree
import numpy as np
from iree import compiler

from runtime_py import hostops
from runtime_py.decisions import Tracer
from runtime_py.device import new_view, open_device
from runtime_py.format import Module, ValueType
from runtime_py.host import as_is, watched
from runtime_py.invoke import prepare

ROUNDS, CALLS = 15, 2_000

SOURCE = """
module @tiny {
  func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>) {
    %y = arith.addf %x, %x : tensor<4xf32>
    %first = tensor.extract_slice %y[0] [1] [1] : tensor<4xf32> to tensor<f32>
    %limit = arith.constant dense<3.0> : tensor<f32>
    %p = arith.cmpf ogt, %first, %limit : tensor<f32>
    return %y, %p : tensor<4xf32>, tensor<i1>
  }
}
"""
TARGET = ("--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu")
MODULE = Module(
    "tiny", "main", (), ("tensor",), (ValueType("tensor", "float32", (4,)), ValueType("tensor", "bool", ())), {}
)


def subjects(folder: Path) -> dict[str, Callable[[], Any]]:
    """Label to what is timed; the first one is the reference."""
    file = folder / "tiny.vmfb"
    file.write_bytes(compiler.compile_str(SOURCE, extra_args=[*TARGET, "--iree-llvmcpu-target-cpu=host"]))
    vm = iree.VmInstance()
    code = iree.VmModule.mmap(vm, str(file))
    context = iree.VmContext(vm, [iree.create_hal_module(vm, open_device("cpu").hal), code])
    function = code.lookup_function("main")
    call = prepare(context, function, MODULE)
    x = new_view(np.ones(4, np.float32), "float32")
    arguments = iree.VmVariantList(1)
    arguments.push_ref(x)
    traced = watched("main", [Tracer()])

    def decided(decide: Callable[[int, bool], bool]) -> bool:
        _, p = call(x)
        return decide(0, hostops.item(p))

    return {
        "IREE's invoke alone": lambda: context.invoke(function, arguments, iree.VmVariantList(2)),
        "a call": lambda: call(x),
        "a call and a decision": lambda: decided(as_is),
        "a call and a traced decision": lambda: decided(traced),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        timed = subjects(Path(folder))
        best = dict.fromkeys(timed, float("inf"))
        for _ in range(ROUNDS):
            for label, run in timed.items():
                best[label] = min(best[label], timeit.timeit(run, number=CALLS) / CALLS * 1e6)
    reference = next(iter(best.values()))
    for label, microseconds in best.items():
        print(f"{label:30} {microseconds:6.2f} us   {microseconds - reference:+6.2f}")


if __name__ == "__main__":
    main()
