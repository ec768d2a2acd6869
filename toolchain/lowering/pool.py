"""The jobs of a build: every subgraph for every target, from the cache or compiled side by side.

Graphs are made in this process, one after the other, since PyTorch's tracing is not thread-safe and takes milliseconds;
iree-compile, which takes most of the time, is a process per job.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from toolchain.diagnostics import LoweringError, UsageError
from toolchain.ir import Constant, ScalarType, Subgraph, TensorType, Type, Value, operands_of
from toolchain.lowering.barriers import unfused
from toolchain.lowering.cache import Cache, CacheEntry, CacheKey
from toolchain.lowering.canonical import canonical_text
from toolchain.lowering.gpus import vulkan_features
from toolchain.lowering.iree import ENTRY, Compiler, MlirModule, compile_flags, compile_module, find_compiler
from toolchain.lowering.targets import Target

# The sources of this package that decide what a module contains: their hash is part of every key.
_DECISIVE = ("export.py", "decompositions.py", "torch_mlir.py", "barriers.py", "iree.py")

Convention = Literal["tensor", "i64", "f64"]
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class CompiledModule:
    """One subgraph, compiled for one target.

    path, size, sha256:  the VMFB, in the cache.
    name:                of the module inside the VMFB; derived from its content.
    entry:               the function to call.
    parameters, results: how each travels: a buffer view, or a VM integer or double.
    weights:             dtype and dims of the parameters that it loads, by ``parameter_key`` from scope ``model``.
    features:            what the machine must have; see ``runtime_py.format.ModuleFile``.
    """

    path: Path
    size: int
    sha256: str
    name: str
    entry: str
    parameters: tuple[Convention, ...]
    results: tuple[Convention, ...]
    weights: tuple[TensorType, ...]
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compilation:
    """modules: by (subgraph name, target name). hits, misses: distinct modules found in the cache, and compiled.

    unfused: labels of the modules compiled just now that the compiler refused until nothing in them was fused.
    """

    modules: Mapping[tuple[str, str], CompiledModule]
    hits: int
    misses: int
    unfused: tuple[str, ...] = ()


class CompilationError(LoweringError):
    """failures: one error for each subgraph and target that does not compile."""

    def __init__(self, failures: Sequence[LoweringError]) -> None:
        self.failures = tuple(failures)
        first = self.failures[0]
        count = len(self.failures)
        listing = "\n".join(f"{i}. [{f.code}] {f.message}" for i, f in enumerate(self.failures, 1))
        super().__init__(
            first.code, f"{count} subgraph{'s do' if count > 1 else ' does'} not compile\n{listing}", first.hint
        )


@dataclass(frozen=True, slots=True)
class _Job:
    key: CacheKey
    subgraph: Subgraph
    target: Target

    @property
    def label(self) -> str:
        return f"{self.subgraph.name} for {self.target.name}"


def compile_subgraphs(
    subgraphs: Sequence[Subgraph],
    targets: Sequence[Target],
    *,
    jobs: int | None = None,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
    compiler: Path | None = None,
) -> Compilation:
    """Compiles every subgraph for every target; equal ones once.

    jobs:     how many compilers run at a time; by default as many as there are processors.
    progress: called with (done, total, label) after each module.
    compiler: another iree-compile than the installed one.

    Raises CompilationError with all failures once every job has ended, UsageError TC213 for a bad number of jobs.
    """
    if jobs is not None and jobs < 1:
        raise UsageError("TC213", f"{jobs} compile jobs make no sense", "give a number from 1")
    cache, tool = Cache(cache_dir), find_compiler(compiler)
    wanted = [_Job(_key(s, t, tool), s, t) for t in targets for s in subgraphs]
    distinct = {job.key: job for job in wanted}
    report = _Reporter(progress, len(distinct))
    entries = {key: entry for key, job in distinct.items() if (entry := report.found(job, cache.get(key))) is not None}
    hits = len(entries)
    missing = [job for key, job in distinct.items() if key not in entries]
    entries |= _compile_all(missing, cache, tool, jobs or len(os.sched_getaffinity(0)), report)
    modules = {(job.subgraph.name, job.target.name): _describe(job, entries[job.key]) for job in wanted}
    return Compilation(MappingProxyType(modules), hits, len(missing), tuple(report.unfused))


class _Reporter:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._done, self._total = progress, 0, total
        self.unfused: list[str] = []

    def found(self, job: _Job, entry: CacheEntry | None) -> CacheEntry | None:
        if entry is not None:
            self.step(job)
        return entry

    def step(self, job: _Job, *, fused: bool = True) -> None:
        self._done += 1
        if not fused:
            self.unfused.append(job.label)
        if self._progress is not None:
            self._progress(self._done, self._total, job.label if fused else f"{job.label}, unfused")


def _compile_all(
    missing: Sequence[_Job], cache: Cache, tool: Compiler, jobs: int, report: _Reporter
) -> dict[CacheKey, CacheEntry]:
    entries: dict[CacheKey, CacheEntry] = {}
    failures: list[LoweringError] = []
    with cache.scratch() as scratch, ThreadPoolExecutor(jobs) as pool:
        running: dict[Future[bool], tuple[_Job, Path]] = {}
        for number, job in enumerate(missing):
            output = Path(scratch) / f"{number}.vmfb"
            try:
                module = _import(job)
            except LoweringError as error:
                at = job.subgraph.location
                failures.append(LoweringError(error.code, error.message, error.hint, at.file, at.line))
                report.step(job)
            else:
                running[pool.submit(_compile, module, job.key.flags, output, tool)] = (job, output)
        for future in as_completed(running):
            job, output = running[future]
            fused = True
            try:
                fused = future.result()
                entries[job.key] = cache.put(job.key, output)
            except LoweringError as error:
                where = f"subgraph {job.subgraph.name}, {job.subgraph.location}, for {job.target.name}"
                at = job.subgraph.location
                failures.append(LoweringError(error.code, f"{where}: {error.message}", error.hint, at.file, at.line))
            report.step(job, fused=fused)
    if failures:
        raise CompilationError(failures)
    return entries


def _compile(module: MlirModule, flags: Sequence[str], output: Path, tool: Compiler) -> bool:
    """Whether the module compiled as it is; if refused, it is tried without fusion, and the first refusal is raised."""
    try:
        compile_module(module, flags, output, tool)
    except LoweringError as refusal:
        if refusal.code == "TC304":
            raise
        try:
            compile_module(unfused(module), flags, output, tool)
        except LoweringError:
            raise refusal from None
        return False
    return True


def _import(job: _Job) -> MlirModule:
    # These pull in PyTorch's tracing and torch-mlir, a second or two: not when everything comes from the cache.
    from toolchain.lowering.export import export
    from toolchain.lowering.torch_mlir import import_graph

    _check_dtypes(job)
    graph = export(job.subgraph)
    try:
        return import_graph(graph, weights=len(job.subgraph.weights), name=_module_name(job.key))
    except LoweringError as error:
        where = f"subgraph {job.subgraph.name}, {job.subgraph.location}"
        raise LoweringError(error.code, f"{where}: {error.message}", error.hint) from error


def _check_dtypes(job: _Job) -> None:
    """Raises LoweringError TC307 at the operation that uses a dtype which the target lacks."""
    for op in job.subgraph.operations:
        for value in (*operands_of(op), *op.results):
            kind = value.type if isinstance(value, (Value, Constant)) else None
            if isinstance(kind, TensorType) and kind.dtype in job.target.lacks:
                raise LoweringError(
                    "TC307",
                    f"{op.location}: {op.target} uses {kind.dtype}, which target {job.target.name} lacks",
                    "convert the tensor to float32 or float16 first, or leave the target out",
                )


def _key(subgraph: Subgraph, target: Target, compiler: Compiler) -> CacheKey:
    versions = tuple(f"{name}={importlib.metadata.version(name)}" for name in ("torch", "torch-mlir"))
    return CacheKey(
        subgraph=canonical_text(subgraph),
        target=f"{target.canonical} {target.identity}".strip(),
        flags=compile_flags(subgraph, target),
        versions=(*versions, f"iree={compiler.version}", f"lowering={_own_version()}"),
    )


@functools.cache
def _own_version() -> str:
    sources = b"".join(Path(__file__).with_name(name).read_bytes() for name in _DECISIVE)
    return hashlib.sha256(sources).hexdigest()[:16]


def _module_name(key: CacheKey) -> str:
    return f"m_{key.digest()[:16]}"


def _describe(job: _Job, entry: CacheEntry) -> CompiledModule:
    return CompiledModule(
        path=entry.path,
        size=entry.size,
        sha256=entry.sha256,
        name=_module_name(job.key),
        entry=ENTRY,
        parameters=tuple(_convention(p.type) for p in job.subgraph.parameters),
        results=tuple(_convention(r.type) for r in job.subgraph.results),
        weights=tuple(w.type for w in job.subgraph.weights),
        features=(*job.target.features, *_gpu_features(job.target, entry)),
    )


def _gpu_features(target: Target, entry: CacheEntry) -> tuple[str, ...]:
    return vulkan_features(entry.path.read_bytes()) if target.kind == "vulkan" else ()


def _convention(kind: Type) -> Convention:
    if isinstance(kind, TensorType):
        return "tensor"
    return "f64" if kind == ScalarType("float") else "i64"
