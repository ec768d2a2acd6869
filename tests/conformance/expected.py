"""What every host has to do: eager PyTorch's outcomes, and the paths of the reference interpreter."""

from __future__ import annotations

import functools

import torch

import toolchain
from runtime_py import Decision
from runtime_py.signature import select_entry
from tests.conformance.cases import CASES, Case
from tests.conformance.runners import Observed, observe
from toolchain.bundle.describe import describe_entry
from toolchain.ir.interpreter import Interpreter
from toolchain.pipeline import explore_program
from toolchain.recording import call_arguments


@functools.cache
def expected(name: str) -> list[Observed]:
    """What eager PyTorch does, and the path of the reference interpreter."""
    case = CASES[name]
    module = case.make()
    with torch.no_grad():
        return [observe(module, call, path) for call, path in zip(case.calls, reference_paths(case), strict=True)]


def reference_paths(case: Case) -> list[list[Decision]]:
    program = explore_program(case.make(), case.calls, toolchain.BuildOptions())
    entries = tuple(map(describe_entry, program.entries))
    interpreter = Interpreter(program)
    paths = []
    for call in case.calls:
        match = select_entry(entries, *call_arguments(call))
        outcome = interpreter.call(match.entry, match.leaves)
        paths.append([Decision(*decision) for decision in outcome.decisions])
    return paths
