"""``build``, ``explain`` and ``verify``: the whole pipeline behind three functions.

Importing this is cheap: torch and the compilers come in with the first call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolchain.diagnostics import UnsupportedModelError, UsageError
from toolchain.diagnostics.report import Report, report_program
from toolchain.options import BuildOptions, Example, as_examples
from toolchain.results import Bundle, Verdict

if TYPE_CHECKING:
    from toolchain.ir import Program

HOSTS = ("python", "cpp", "vm")


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

    module:     an ``nn.Module`` in eval mode, or a plain function.
    examples:   one args tuple, an ``Example``, or a list of either. Dims that differ between examples of one structure
                become dynamic; other structures or other Python constants become entries of their own.
    targets:    names as ``toolchain targets`` lists them; hosts: of "python", "cpp" and "vm".
    out:        is replaced when it is a bundle already; other files are never touched.
    host_calls: functions that the host program calls as they are.

    Everything that can be wrong with the arguments and the model is found before anything is compiled. Raises
    ``UsageError``, ``UnsupportedModelError`` (with every problem), ``LoweringError`` or ``ToolEnvironmentError``.
    """
    start = time.perf_counter()
    options = _with_host_calls(options or BuildOptions(), host_calls)
    calls = as_examples(examples)
    path = Path(out)
    machines = _checked(module, targets, hosts, path)
    program = _optimised(module, calls, options)
    host_files = _host_files(program, hosts)
    compilation = _compiled(program, machines, options)
    tests = record(module, calls)
    _tell(options, "writing")
    write_bundle(program, compilation, host_files, tests, path)
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


def explain(module: Callable[..., Any], examples: object, options: BuildOptions | None = None) -> Report:
    """Where ``module`` would be cut, and every problem that keeps it from being built; compiles nothing.

    Takes the arguments of ``build``; raises ``UsageError`` when they are wrong, but reports problems of the model.
    """
    calls = as_examples(examples)
    _check_module(module)
    try:
        return report_program(_optimised(module, calls, options or BuildOptions()))
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
) -> Verdict:
    """Compares a bundle with ``module`` in eager PyTorch.

    random:        so many random inputs, of the examples' structure, are compared besides the examples.
    forced_paths:  also takes every edge of the control-flow graph by forcing decisions in both worlds.
    target:        which of the bundle's targets runs; None is the best for this machine.
    random_inputs: (n, seed) to n calls, where plain random numbers make no sensible input.

    A disagreement is a verdict, not an error. Raises ``UsageError`` and ``runtime_py.SessionError``.
    """
    from toolchain.verification import verify_bundle

    calls = as_examples(examples)
    _check_module(module)
    return verify_bundle(
        Path(bundle),
        module,
        calls,
        random=random,
        forced_paths=forced_paths,
        target=target,
        random_inputs=random_inputs,
    )


def _optimised(module: Callable[..., Any], examples: Sequence[Example], options: BuildOptions) -> Program:
    from toolchain.frontend import explore
    from toolchain.passes import run_pipeline

    _tell(options, "exploring")
    program = explore(module, examples, options)
    _tell(options, "optimising")
    return run_pipeline(program)


def _tell(options: BuildOptions, stage: str) -> None:
    if options.progress is not None:
        options.progress(stage, 0, 1)


def _with_host_calls(options: BuildOptions, host_calls: Sequence[Callable[..., Any]]) -> BuildOptions:
    return replace(options, host_calls=(*options.host_calls, *host_calls))


def _check_hosts(hosts: Sequence[str]) -> None:
    if isinstance(hosts, str) or not hosts or len(set(hosts)) < len(hosts) or not set(hosts) <= set(HOSTS):
        raise UsageError(
            "TC223", f"hosts must be distinct names of {', '.join(HOSTS)}, not {hosts!r}", 'write hosts=("python",)'
        )


def _check_module(module: object) -> None:
    import torch

    if not callable(module):
        raise UsageError("TC222", f"a {type(module).__name__} cannot be called", "pass an nn.Module or a function")
    if isinstance(module, torch.nn.Module) and module.training:
        raise UsageError("TC222", "the module is in training mode", "call module.eval() first")
