"""Every host does on every target what eager PyTorch does, on the path that the program takes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

import runtime_py
import toolchain
from tests.conformance.cases import CASES
from tests.conformance.differences import difference, is_refused
from tests.conformance.expected import expected
from tests.conformance.runners import RUNNERS
from tests.devices import missing, require
from toolchain.diagnostics import UnsupportedModelError
from toolchain.replay import same, same_exception

Built = Callable[[str], Path]

TARGETS = ("cpu", "vulkan", "cuda")
COMBINATIONS = list(itertools.product(CASES, RUNNERS, TARGETS))


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The bundle of a case, for every host that takes it, built once."""
    folder = tmp_path_factory.mktemp("conformance")

    @functools.cache
    def build(name: str) -> Path:
        path = folder / f"{name}.bundle"
        hosts = [host for host in RUNNERS if not is_refused(name, host)]
        case, options = CASES[name], toolchain.BuildOptions(debug=True)
        targets = [t for t in TARGETS if not missing(t) and not is_refused(name, "*", t)]
        toolchain.build(case.make(), list(case.calls), targets, hosts, path, options=options)
        return path

    return build


@pytest.mark.parametrize(("name", "host", "target"), [c for c in COMBINATIONS if not is_refused(*c)])
def test_a_host_does_what_eager_does(name: str, host: str, target: str, built: Built) -> None:
    require(target)
    known = difference(name, host, target)
    if known is not None and known.fails:
        with pytest.raises(runtime_py.SessionError) as caught:
            RUNNERS[host].run(built(name), target, CASES[name].calls)
        assert caught.value.code == known.fails
        return
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


@pytest.mark.parametrize(("name", "host", "target"), [c for c in COMBINATIONS if is_refused(*c)])
def test_what_cannot_be_expressed_is_refused(name: str, host: str, target: str, tmp_path: Path) -> None:
    known = difference(name, host, target)
    case = CASES[name]
    with pytest.raises(toolchain.ToolchainError) as caught:
        toolchain.build(case.make(), list(case.calls), (target,), (host,), tmp_path / "refused.bundle")
    assert known is not None
    assert caught.value.code == known.refused
    if isinstance(caught.value, UnsupportedModelError):
        assert {problem.code for problem in caught.value.problems} == {known.refused}
        assert all(problem.line > 0 for problem in caught.value.problems)
