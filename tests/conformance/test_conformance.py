"""Every host does on every target what eager PyTorch does, on the path that the program takes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import toolchain
from runtime_py import Decision
from runtime_py.signature import select_entry
from tests.conformance.cases import CASES, Case
from tests.conformance.differences import difference
from tests.conformance.runners import RUNNERS, Observed, observe
from toolchain.bundle.describe import describe_entry
from toolchain.diagnostics import UnsupportedModelError
from toolchain.ir.interpreter import Interpreter
from toolchain.pipeline import explore_program
from toolchain.recording import call_arguments
from toolchain.replay import same, same_exception

Built = Callable[[str], Path]

TARGETS = ("cpu",)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The bundle of a case, for every host that takes it, built once."""
    folder = tmp_path_factory.mktemp("conformance")

    @functools.cache
    def build(name: str) -> Path:
        path = folder / f"{name}.bundle"
        hosts = [host for host in RUNNERS if not is_refused(name, host)]
        case, options = CASES[name], toolchain.BuildOptions(debug=True)
        toolchain.build(case.make(), list(case.calls), TARGETS, hosts, path, options=options)
        return path

    return build


def is_refused(name: str, host: str) -> bool:
    known = difference(name, host)
    return known is not None and known.refused != ""


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


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("name", "host"), [(n, h) for n in CASES for h in RUNNERS if not is_refused(n, h)])
def test_a_host_does_what_eager_does(name: str, host: str, target: str, built: Built) -> None:
    known = difference(name, host, target)
    observed = RUNNERS[host].run(built(name), target, CASES[name].calls)
    wanted = expected(name)
    assert [same_exception(o.exception, w.exception) for o, w in zip(observed, wanted, strict=True)] == [True] * len(
        wanted
    )
    other_texts = [o.exception for o in observed] != [w.exception for w in wanted]
    assert other_texts == (known is not None and known.texts)
    for mine, eager in zip(observed, wanted, strict=True):
        assert mine.printed == eager.printed
        assert same(mine.result, eager.result), (mine.result, eager.result)
        # An exception leaves the arguments of the VM host as they were: a status carries no tensors.
        assert same(mine.arguments, eager.arguments)
        assert mine.path in (None, eager.path)


@pytest.mark.parametrize(("name", "host"), [(n, h) for n in CASES for h in RUNNERS if is_refused(n, h)])
def test_a_host_refuses_what_it_cannot_express(name: str, host: str, tmp_path: Path) -> None:
    known = difference(name, host)
    case = CASES[name]
    with pytest.raises(UnsupportedModelError) as caught:
        toolchain.build(case.make(), list(case.calls), TARGETS, (host,), tmp_path / "refused.bundle")
    assert known is not None
    assert {problem.code for problem in caught.value.problems} == {known.refused}
    assert all(problem.line > 0 for problem in caught.value.problems)
