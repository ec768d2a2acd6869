"""Modules for hosts that run inside of IREE's VM: the host program itself, and subgraphs with their weights bound."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runtime_py.format import parameter_key
from toolchain.diagnostics import LoweringError
from toolchain.lowering.cache import Cache, CacheEntry, CacheKey
from toolchain.lowering.iree import MlirModule, compile_module, find_compiler
from toolchain.lowering.pool import CompiledModule
from toolchain.lowering.targets import Target

_FLAGS = ("--iree-input-demote-f64-to-f32=false",)


def compile_host(
    text: str, target: Target, *, cache_dir: Path | None = None, compiler: Path | None = None
) -> CacheEntry:
    """The MLIR ``text`` compiled for ``target``, from the cache if it is there.

    Raises LoweringError TC306 if the compiler refuses it.
    """
    cache, tool = Cache(cache_dir), find_compiler(compiler)
    flags = (*_FLAGS, *target.compile_flags)
    key = CacheKey(text, f"{target.canonical} {target.identity}".strip(), flags, (f"iree={tool.version}",))
    if (entry := cache.get(key)) is not None:
        return entry
    with cache.scratch() as scratch:
        output = Path(scratch) / "main.vmfb"
        try:
            compile_module(MlirModule(text, ()), flags, output, tool)
        except LoweringError as error:
            message = f"the VM host program does not compile for {target.name}: {error.message}"
            raise LoweringError("TC306", message, "build for another host, and report this with the model") from error
        return cache.put(key, output)


def instantiate(module: CompiledModule, name: str, keys: Sequence[str]) -> bytes:
    """A copy of ``module`` called ``name`` whose weights are the archive's under ``keys``.

    The VM has one space of module names and binds parameters by key, so each set of weights needs a module of its own;
    compiling it again would only change these texts. They are replaced by texts of the same length.
    """
    data = _replaced(module.path.read_bytes(), module.name, name)
    for index, key in enumerate(keys):
        data = _replaced(data, parameter_key(index), key)
    return data


def _replaced(data: bytes, old: str, new: str) -> bytes:
    assert len(old) == len(new), f"{new} cannot take the place of {old}"
    if old.encode() not in data:
        raise LoweringError("TC306", f"a compiled module does not hold the name {old}", "use the packaged iree-compile")
    return data.replace(old.encode(), new.encode())
