"""Small programs, one per shape of control flow, as C++: results, exceptions and paths are the interpreter's."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cpp.native import IREE_COMPILE, PROGRAMS, ROOT, WARNINGS, build, run
from tests.ir.programs import CASES, Case
from toolchain import BuildOptions
from toolchain.bundle import write_bundle
from toolchain.ir import Leaf, Program, Sequence, Structure
from toolchain.ir.interpreter import Interpreter
from toolchain.lowering import parse_target
from toolchain.passes import run_pipeline
from toolchain.pipeline import compile_program, complete_hosts, emit_hosts, versions_used

OPTIONS = BuildOptions(iree_compile=IREE_COMPILE)


@dataclass(frozen=True)
class Expected:
    """A call, what the interpreter makes of it, and the path that it takes."""

    args: tuple[Any, ...]
    result: Any
    exception: tuple[str, str] | None
    printed: str
    path: list[str]
    kwargs: dict[str, Any]
    after: None = None


def expected_calls(program: Program, leaves: tuple[tuple[Any, ...], ...]) -> Iterator[Expected]:
    interpreter = Interpreter(program)
    for args in leaves:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            outcome = interpreter.call(0, args)
        result = None if outcome.result is None else plain(outcome.result)
        raised = outcome.exception
        exception = None if raised is None else (type(raised).__name__, str(raised))
        path = [f"{function} {block} {taken}" for function, block, taken in outcome.decisions]
        yield Expected(args, result, exception, printed.getvalue(), path, {})


def plain(tree: Structure) -> Any:
    if isinstance(tree, Leaf):
        return tree.operand
    assert isinstance(tree, Sequence)
    items = map(plain, tree.items)
    return list(items) if tree.kind == "list" else tuple(items)


def write_case(case: Case, out: Path) -> list[list[Expected]]:
    """A bundle with a C++ host for the case, and with its runs as recorded tests."""
    program, target = run_pipeline(case.program), parse_target("cpu")
    tests = [list(expected_calls(case.program, leaves)) for leaves in case.runs]
    write_bundle(
        program,
        compile_program(program, [target], OPTIONS),
        [target],
        emit_hosts(program, ["cpp"]),
        tests,
        out,
        versions_used(OPTIONS),
        complete=lambda bundle: complete_hosts(program, ["cpp"], bundle),
    )
    return tests


def report(tests: list[list[Expected]]) -> list[str]:
    """What the program should say."""
    calls = ((name, number, call) for name, calls in enumerate(tests) for number, call in enumerate(calls))
    return [line for name, number, call in calls for line in (f"test {name} call {number}: ok", *call.path)]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_programs_agree_with_the_interpreter(tmp_path: Path) -> None:
    expected = {name: report(write_case(make(), tmp_path / f"{name}.bundle")) for name, make in CASES.items()}
    bundles = ";".join(str(tmp_path / f"{name}.bundle") for name in CASES)
    build(PROGRAMS, tmp_path / "build", f"{WARNINGS} -O0", build_type="None", BUNDLES=bundles)
    for name, lines in expected.items():
        done = run((tmp_path / "build" / name, tmp_path / f"{name}.bundle", "--tests", "--decisions"))
        assert (name, done.stdout.splitlines(), done.stderr, done.returncode) == (name, lines, "", 0)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_project_of_the_library_builds_generated_programs(tmp_path: Path) -> None:
    name, make = next(iter(CASES.items()))
    bundle = tmp_path / f"{name}.bundle"
    lines = report(write_case(make(), bundle))
    settings = {"TOOLCHAIN_BUNDLES": str(bundle), "TOOLCHAIN_TESTS": "OFF"}
    build(ROOT, tmp_path / "build", f"{WARNINGS} -O0", build_type="None", **settings)
    [program] = (tmp_path / "build" / name).glob("*_run")
    assert run((program, bundle, "--tests", "--decisions")).stdout.splitlines() == lines
