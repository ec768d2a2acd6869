"""The compiled files of the VM host: the control flow, and a module for every instance of a subgraph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hostgen.vm import TRACED, emit_module
from hostgen.vm.emitter import instance_name
from hostgen.vm.script import folder_name
from toolchain.bundle.params import content_key, used_constants
from toolchain.ir import Program, instances
from toolchain.lowering.pool import Compilation
from toolchain.lowering.targets import Target
from toolchain.lowering.vm import compile_host, instantiate
from toolchain.options import BuildOptions


def vm_files(
    program: Program, compilation: Compilation, targets: Sequence[Target], text: str, options: BuildOptions
) -> Mapping[str, bytes]:
    """A folder of ``host/vm`` for each target; ``text`` is the host program.

    Raises LoweringError TC306 if it does not compile.
    """
    files: dict[str, bytes] = {}
    for target in targets:
        folder = f"host/vm/{folder_name(target.canonical)}"
        files[f"{folder}/main.vmfb"] = _compiled(text, target, options)
        for name, data in _instances(program, compilation, target):
            files[f"{folder}/{name}.vmfb"] = data
    return files


def traced_files(program: Program, targets: Sequence[Target], options: BuildOptions) -> Mapping[str, bytes]:
    """The host program that records its decisions, under ``debug/vm``. Raises as ``vm_files``."""
    text = emit_module(program, traced=True)
    files = {f"debug/vm/{folder_name(t.canonical)}/traced.vmfb": _compiled(text, t, options) for t in targets}
    return {f"debug/vm/{TRACED}": text.encode(), **files}


def _compiled(text: str, target: Target, options: BuildOptions) -> bytes:
    entry = compile_host(text, target, cache_dir=options.cache_dir, compiler=options.iree_compile)
    return entry.path.read_bytes()


def _instances(program: Program, compilation: Compilation, target: Target) -> Iterator[tuple[str, bytes]]:
    keys = {name: content_key(program.constants[name]) for name in used_constants(program)}
    for number, (subgraph, weights) in enumerate(instances(program)):
        module = compilation.modules[(subgraph, target.name)]
        yield instance_name(number), instantiate(module, instance_name(number), [keys[w] for w in weights])
