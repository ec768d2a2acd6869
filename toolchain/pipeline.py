"""The stages of a build, each checked or timed on its own; ``toolchain.api`` strings them together."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch

import hostgen
import runtime_py
from runtime_py.format import Versions
from runtime_py.integrity import OpenBundle
from toolchain.bundle import installed_versions
from toolchain.bundle.replace import check_replaceable
from toolchain.diagnostics import Problem, UnsupportedModelError, UsageError, VerificationError
from toolchain.environment import version_number
from toolchain.frontend import Call, HostCalls, explore
from toolchain.frontend import Dynamic as Marker
from toolchain.ir import Program
from toolchain.ir.dot import to_dot
from toolchain.ir.printer import print_program
from toolchain.lowering.cache import Cache
from toolchain.lowering.iree import find_compiler
from toolchain.lowering.pool import Compilation, CompilationError, compile_subgraphs
from toolchain.lowering.targets import Target, parse_target
from toolchain.options import BuildOptions, Example
from toolchain.passes import run_pipeline
from toolchain.recording import replace_markers
from toolchain.replay import replay
from toolchain.vm_host import traced_files, vm_files


def check_build(
    module: object, targets: Sequence[str], hosts: Sequence[str], out: Path, options: BuildOptions
) -> tuple[Target, ...]:
    """Everything that can be known to be wrong before the model is looked at; returns the targets.

    Raises ``UsageError`` or ``ToolEnvironmentError``.
    """
    check_module(module)
    _check_hosts(hosts)
    machines = _parse_targets(targets)
    _check_output(out)
    find_compiler(options.iree_compile)
    Cache(options.cache_dir)
    return machines


def check_module(module: object) -> None:
    """Raises ``UsageError`` TC222 unless ``module`` can be called and is not in training mode."""
    if not callable(module):
        raise UsageError("TC222", f"a {type(module).__name__} cannot be called", "pass an nn.Module or a function")
    if isinstance(module, torch.nn.Module) and module.training:
        raise UsageError("TC222", "the module is in training mode", "call module.eval() first")


def _check_hosts(hosts: Sequence[str]) -> None:
    known = available_hosts()
    if isinstance(hosts, str) or not hosts or len(set(hosts)) < len(hosts) or not set(hosts) <= set(known):
        raise UsageError(
            "TC223", f"hosts must be distinct names out of {', '.join(known)}, not {hosts!r}", 'write hosts=("python",)'
        )


def available_hosts() -> tuple[str, ...]:
    """The hosts that have an emitter."""
    specs = {host: importlib.util.find_spec(f"hostgen.{host}") for host in hostgen.HOSTS}
    return tuple(host for host, spec in specs.items() if spec is not None and spec.origin is not None)


def _parse_targets(targets: Sequence[str]) -> tuple[Target, ...]:
    hint = 'write targets=("cpu",)'
    if isinstance(targets, str) or not targets:
        raise UsageError("TC225", f"targets must be a non-empty list of names, not {targets!r}", hint)
    machines = tuple(parse_target(name) for name in targets)
    if len({machine.canonical for machine in machines}) < len(machines):
        raise UsageError("TC225", f"two of the targets {', '.join(targets)} are the same", hint)
    return machines


def _check_output(out: Path) -> None:
    """Raises ``UsageError`` TC224 unless ``out`` is free or a bundle, in a folder that can be written."""
    check_replaceable(out)
    folder = next(parent for parent in out.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError("TC224", f"{out} cannot be written: {folder} is no writable folder", "choose another path")


def explore_program(
    module: Callable[..., Any],
    examples: Sequence[Example],
    options: BuildOptions,
    host_calls: HostCalls | None = None,
) -> Program:
    """The optimised program. Raises ``UnsupportedModelError`` with every problem.

    host_calls: learns which functions the program calls as they are.
    """
    calls = [Call(*replace_markers(example, lambda marker: Marker(marker.value))) for example in examples]
    tell(options, "exploring")
    program = explore(module, calls, options.budget, lambda blocks: tell(options, "exploring", blocks), host_calls)
    tell(options, "optimising")
    return run_pipeline(program)


def compile_program(program: Program, machines: Sequence[Target], options: BuildOptions) -> Compilation:
    """All modules of ``program``.

    Raises ``UnsupportedModelError`` for operations that the compiler refuses (what the model says cannot be compiled),
    and ``LoweringError`` where the compiler itself failed.
    """
    try:
        return compile_subgraphs(
            tuple(program.subgraphs.values()),
            machines,
            jobs=options.jobs,
            cache_dir=options.cache_dir,
            progress=lambda done, total, label: tell(options, "compiling", done, total),
            compiler=options.iree_compile,
        )
    except CompilationError as error:
        refused = [f for f in error.failures if f.code in _REFUSED and f.line]
        if len(refused) < len(error.failures):
            raise
        raise UnsupportedModelError([Problem(f.code, f.file, f.line, f.message, f.hint) for f in refused]) from error


# Lowering failures that say something about the model: an operation is not imported, or the compiler refuses it.
_REFUSED = ("TC301", "TC302", "TC303")


def check_recorded_calls(path: Path, options: BuildOptions, host_calls: Mapping[str, Callable[..., Any]]) -> None:
    """Replays the recorded calls of a new bundle on those of its hosts and targets that run here and in this runtime.

    host_calls: the functions that the bundle calls, by name.
    Raises ``VerificationError`` TC521 unless they do what eager PyTorch did.
    """
    for host in ("python", "vm"):
        _check_host(path, host, options, host_calls)


def _check_host(
    path: Path, host: Literal["python", "vm"], options: BuildOptions, host_calls: Mapping[str, Callable[..., Any]]
) -> None:
    try:
        outcomes = replay(path, host=host, host_calls=host_calls)
    except runtime_py.SessionError as error:
        # Modules of another compiler than the installed one may need another runtime.
        elsewhere = ("RT303",) if options.iree_compile is not None else ()
        if error.code in ("RT106", "RT301", "RT302", *elsewhere):
            return  # made for another machine, runtime or host: nothing to run here
        raise
    wrong = [n for n, outcome in enumerate(outcomes) if outcome.matches is False]
    if wrong:
        raise VerificationError(
            "TC521",
            f"{path} disagrees with eager PyTorch on example {', '.join(map(str, wrong))} of {len(outcomes)} "
            f"({host} host); do not use",
            "`toolchain run` shows the results, `toolchain verify` the path; "
            "please report this defect of the toolchain",
        )


def emit_hosts(program: Program, hosts: Sequence[str]) -> dict[str, bytes]:
    """Paths in the bundle to the texts of all host programs.

    Raises ``UnsupportedModelError`` TC171 if a host cannot express the program.
    """
    return {
        f"host/{host}/{path}": text.encode() for host in hosts for path, text in hostgen.generate(program, host).items()
    }


def complete_hosts(program: Program, hosts: Sequence[str], bundle: OpenBundle) -> Mapping[str, bytes]:
    """Paths in the bundle to the texts of what host programs say about the rest of it."""
    return {
        f"host/{host}/{path}": text.encode()
        for host in hosts
        for path, text in hostgen.complete(program, host, bundle).items()
    }


def versions_used(options: BuildOptions) -> Versions:
    """For the manifest; of another iree-compile what it says about itself."""
    if options.iree_compile is None:
        return installed_versions()
    return installed_versions(version_number(find_compiler(options.iree_compile).version))


def compile_hosts(
    program: Program,
    compilation: Compilation,
    machines: Sequence[Target],
    emitted: Mapping[str, bytes],
    options: BuildOptions,
) -> Mapping[str, bytes]:
    """What host programs need besides their texts: the compiled VM host. Raises ``LoweringError`` TC306."""
    text = emitted.get("host/vm/main.mlir")
    if text is None:
        return {}
    return vm_files(program, compilation, machines, text.decode(), options)


def debug_files(
    program: Program, machines: Sequence[Target], hosts: Sequence[str], options: BuildOptions
) -> Mapping[str, bytes]:
    """The control-flow graph as text and for Graphviz, and a VM host that records its decisions."""
    traced = traced_files(program, machines, options) if "vm" in hosts else {}
    return {
        "debug/cfg.txt": print_program(program, locations=True).encode(),
        "debug/cfg.dot": to_dot(program).encode(),
        **traced,
    }


def tell(options: BuildOptions, stage: str, done: int = 0, total: int = 0) -> None:
    if options.progress is not None:
        options.progress(stage, done, total)
