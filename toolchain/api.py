"""``build``, ``explain`` and ``verify``: the whole pipeline behind three functions.

Importing this is cheap: torch and the compilers come in with the first call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from toolchain.diagnostics import UnsupportedModelError
from toolchain.diagnostics.report import Report, report_program
from toolchain.options import BuildOptions, ProgressCallback, as_examples
from toolchain.results import Bundle, Verdict


def build(
    module: Callable[..., Any],
    examples: object,
    targets: Sequence[str] = ("cpu",),
    hosts: Sequence[str] = ("python",),
    out: str | PathLike[str] = "net.bundle",
    host_calls: Sequence[Callable[..., Any]] = (),
    options: BuildOptions | None = None,
) -> Bundle:
    """Builds ``module`` into a bundle at ``out``.

    module:     an ``nn.Module`` in eval mode, or a plain function; it is left as it was.
    examples:   one args tuple, an ``Example``, or a list of either. Dims that differ between examples of one structure
                become dynamic; other structures or other Python constants become entries of their own.
    targets:    names as ``toolchain targets`` lists them; hosts: names of host programs to emit.
    out:        is replaced when it is a bundle already; anything else there is left alone.
    host_calls: functions that the host program calls as they are, and that cannot be marked by ``host_call``: they
                take and give NumPy's arrays in ``module`` too.

    Everything that can be wrong with the arguments and the model is found before anything is compiled. Raises
    ``UsageError``, ``UnsupportedModelError`` (with every problem), ``LoweringError`` or ``ToolEnvironmentError``. The
    examples are replayed on the finished bundle where it runs here; ``VerificationError`` if eager did something else.
    """
    from toolchain import pipeline
    from toolchain.bundle import write_bundle
    from toolchain.frontend import HostCalls
    from toolchain.recording import record

    start = time.perf_counter()
    options = options or BuildOptions()
    functions = HostCalls(host_calls)
    calls, path = as_examples(examples), Path(out)
    machines = pipeline.check_build(module, targets, hosts, path, options)
    program = pipeline.explore_program(module, calls, options, functions)
    emitted = pipeline.emit_hosts(program, hosts)
    tests = record(module, calls)
    compilation = pipeline.compile_program(program, machines, options)
    debug = pipeline.debug_files(program, machines, hosts, options) if options.debug else {}
    emitted |= pipeline.compile_hosts(program, compilation, machines, emitted, options)
    pipeline.tell(options, "writing")
    versions, complete = pipeline.versions_used(options), partial(pipeline.complete_hosts, program, hosts)
    write_bundle(program, compilation, machines, emitted, [tests], path, versions, debug, complete=complete)
    pipeline.tell(options, "checking")
    pipeline.check_recorded_calls(path, options, functions.needed_by(program))
    return Bundle(
        path=path,
        seconds=time.perf_counter() - start,
        cache_hits=compilation.hits,
        cache_misses=compilation.misses,
        targets=tuple(machine.canonical for machine in machines),
        hosts=tuple(hosts),
        executables=len(program.subgraphs),
        tests=len(tests),
    )


def explain(
    module: Callable[..., Any],
    examples: object,
    options: BuildOptions | None = None,
    host_calls: Sequence[Callable[..., Any]] = (),
) -> Report:
    """Where ``module`` would be cut, and every problem that keeps it from being built; compiles nothing.

    Takes the arguments of ``build``; raises ``UsageError`` when they are wrong, but reports problems of the model.
    """
    from toolchain.frontend import HostCalls
    from toolchain.pipeline import check_module, explore_program

    functions = HostCalls(host_calls)
    calls = as_examples(examples)
    check_module(module)
    try:
        return report_program(explore_program(module, calls, options or BuildOptions(), functions))
    except UnsupportedModelError as error:
        return Report(None, (), error.problems)


def verify(
    bundle: str | PathLike[str],
    module: Callable[..., Any],
    examples: object,
    random: int = 100,
    forced_paths: bool = True,
    *,
    target: str | None = None,
    random_inputs: Callable[[int, int], Iterable[Any]] | None = None,
    progress: ProgressCallback | None = None,
    host_calls: Sequence[Callable[..., Any]] = (),
) -> Verdict:
    """Compares a bundle with ``module`` in eager PyTorch.

    random:        so many random inputs, of the examples' structure, are compared besides the examples.
    forced_paths:  also takes every edge of the control-flow graph by forcing decisions in both worlds.
    target:        which of the bundle's targets runs; None is the best for this machine.
    random_inputs: (n, seed) to n calls, where plain random numbers make no sensible input.
    progress:      is told (stage, done, total).
    host_calls:    as for ``build``; also functions marked by ``host_call`` that cannot be imported.

    A disagreement is a verdict, not an error. Raises ``UsageError`` and ``runtime_py.SessionError``.
    """
    from toolchain.frontend import HostCalls
    from toolchain.pipeline import check_module
    from toolchain.verification import verify_bundle

    calls = as_examples(examples)
    check_module(module)
    return verify_bundle(
        Path(bundle),
        module,
        calls,
        random=random,
        forced_paths=forced_paths,
        target=target,
        random_inputs=random_inputs,
        progress=progress,
        host_calls=HostCalls(host_calls),
    )
