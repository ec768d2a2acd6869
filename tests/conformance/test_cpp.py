"""The generated C++ does what eager PyTorch does, on the path that the program takes: results, exceptions, printed text
and changed arguments are compared by the program itself, with the calls that the bundle has recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

import toolchain
from tests.conformance.cases import CASES
from tests.conformance.differences import is_refused
from tests.conformance.expected import reference_paths
from tests.cpp.native import IREE_COMPILE, PROGRAMS, WARNINGS, build, run


def report(name: str) -> list[str]:
    """What the program should say."""
    lines = []
    for number, path in enumerate(reference_paths(CASES[name])):
        lines += [f"test 0 call {number}: ok", *(" ".join(map(str, decision)) for decision in path)]
    return lines


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_cpp_host_does_what_eager_does(tmp_path: Path) -> None:
    bundles = {name: tmp_path / f"{name}.bundle" for name in CASES if not is_refused(name, "cpp")}
    options = toolchain.BuildOptions(iree_compile=IREE_COMPILE)
    for name, bundle in bundles.items():
        toolchain.build(CASES[name].make(), list(CASES[name].calls), hosts=("cpp",), out=bundle, options=options)
    settings = {"BUNDLES": ";".join(map(str, bundles.values()))}
    build(PROGRAMS, tmp_path / "build", f"{WARNINGS} -O0", "clang++", build_type="None", **settings)
    wrong = {}
    for name, bundle in bundles.items():
        done = run((tmp_path / "build" / name, bundle, "--tests", "--decisions"))
        if (done.stdout.splitlines(), done.stderr, done.returncode) != (report(name), "", 0):
            wrong[name] = done.stdout + done.stderr
    assert wrong == {}
