"""Keeps the documentation honest: fenced blocks with a marker after the language are executed.

    ```python file=net.py      the block becomes a file in the page's folder
    ```python run              the block is executed; the blocks of a page share their names
    ```python refused=TC101    the block defines f and example; explain must report exactly this code
    ```python accepted         the block defines f and example; explain must report no problem
    ```python refused=TC171@vm, accepted@vm
                               the same, and the program is emitted for that host
    ```console run             each "$ command" is run in the page's folder and must print the lines below it;
                               "..." stands for any text, on a line of its own for any lines

A page's blocks run in order, in an empty folder of their own.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import toolchain
from toolchain.diagnostics import UnsupportedModelError
from toolchain.options import as_examples
from toolchain.pipeline import emit_hosts, explore_program

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@dataclass(frozen=True, slots=True)
class Snippet:
    language: str
    marker: str
    text: str
    line: int


def snippets_of(page: Path) -> list[Snippet]:
    text = page.read_text()
    return [Snippet(*m.group(1, 2, 3), line=text.count("\n", 0, m.start()) + 1) for m in FENCE.finditer(text)]


def run_page(page: Path, folder: Path) -> None:
    names: dict[str, object] = {"__name__": "page"}
    for snippet in snippets_of(page):
        where = f"{page.name}:{snippet.line}"
        match snippet.language, *snippet.marker.split("="):
            case "python", "file", name:
                (folder / name).write_text(snippet.text)
            case "python", "run":
                execute(snippet, where, names)
            case "python", marker if marker.startswith("accepted"):
                check_problems(snippet, where, "", marker.partition("@")[2])
            case "python", "refused", code:
                check_problems(snippet, where, *code.partition("@")[::2])
            case "console", "run":
                run_console(snippet, where, folder)
            case _:
                pytest.fail(f"{where}: unknown marker {snippet.marker}")


@contextlib.contextmanager
def own_modules(folder: Path) -> Iterator[None]:
    """Modules of the folder go with it, as do those of other tests: two pages may have files of one name."""
    forget_modules(tempfile.gettempdir())  # where pytest makes the folders of tests
    try:
        yield
    finally:
        forget_modules(str(folder))


def forget_modules(folder: str) -> None:
    for name, module in list(sys.modules.items()):
        file = str(getattr(module, "__file__", ""))
        if file.startswith(folder) and not file.startswith(str(ROOT)):
            del sys.modules[name]


def execute(snippet: Snippet, where: str, names: dict[str, object]) -> None:
    # The line cache lets tracebacks, and the caret of a problem, show the line of the page.
    linecache.cache[where] = (len(snippet.text), None, snippet.text.splitlines(keepends=True), where)
    exec(compile(snippet.text, where, "exec"), names)


def check_problems(snippet: Snippet, where: str, code: str, host: str) -> None:
    """The program of the block has exactly the problem ``code`` (none if empty), if not before then in ``host``."""
    names: dict[str, Any] = {"__name__": "page"}
    execute(snippet, where, names)
    if host:
        assert host_problems(names["f"], names["example"], host) == ({code} if code else set()), where
        return
    report = toolchain.explain(names["f"], names["example"])
    assert [problem.code for problem in report.problems] == ([code] if code else []), f"{where}\n{report}"


def host_problems(function: Callable[..., Any], example: object, host: str) -> set[str]:
    try:
        program = explore_program(function, as_examples(example), toolchain.BuildOptions())
        emit_hosts(program, (host,))
    except UnsupportedModelError as error:
        return {problem.code for problem in error.problems}
    return set()


def run_console(snippet: Snippet, where: str, folder: Path) -> None:
    for command, expected in commands_of(snippet.text):
        done = subprocess.run(
            command.replace("toolchain ", f"{shlex.quote(sys.executable)} -m toolchain ", 1)
            if command.startswith("toolchain ")
            else command,
            shell=True,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=240,
        )
        assert matches(expected, done.stdout), f"{where}: {command} (exit {done.returncode}) printed\n{done.stdout}"


def commands_of(text: str) -> list[tuple[str, str]]:
    """(command, expected output) of each "$ command"."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def matches(expected: str, printed: str) -> bool:
    """Whether the text is as expected, where "..." stands for anything within a line, or for any lines."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += re.escape(line.rstrip()).replace(r"\.\.\.", ".*") + r"[ \t]*\n"
    return re.fullmatch(pattern, printed if printed.endswith("\n") or not printed else printed + "\n") is not None


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("page", [p for p in PAGES if snippets_of(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_the_marked_blocks_of_a_page_do_what_they_say(
    page: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLCHAIN_CACHE_DIR", str(cache))
    monkeypatch.syspath_prepend(tmp_path)
    with contextlib.chdir(tmp_path), own_modules(tmp_path):
        run_page(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    missing = [link for link in LINK.findall(prose) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\n", "b\n", False),
        ("a\n...\nc\n", "a\nb1\nb2\nc\n", True),
        ("a\n...\nc\n", "a\nc\n", True),
        ("took ... s\n", "took 1.5 s\n", True),
        ("took ... s\n", "took 1.5 s\nmore\n", False),
        ("1.5\n", "1x5\n", False),
        ("", "", True),
        ("", "unexpected\n", False),
    ],
)
def test_wildcards(expected: str, printed: str, same: bool) -> None:
    assert matches(expected, printed) is same
