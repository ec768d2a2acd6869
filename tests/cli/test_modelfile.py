"""Model files: what they must define, how they are imported, and what is said when they do not deliver."""

from __future__ import annotations

import importlib
import itertools
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from toolchain import Example, UsageError
from toolchain.cli.modelfile import load_model_file

_numbers = itertools.count()
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a model file under a name that no other test uses; sys.path is put back afterwards."""
    monkeypatch.setattr(sys, "path", [*sys.path])

    def write(text: str, folder: str = ".") -> Path:
        path = tmp_path / folder / f"modelfile{next(_numbers)}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write


GOOD = """
    def model():
        return len
    def other():
        return sum
    def example_inputs():
        return ([1],)
"""


def test_the_factory_is_model_unless_named(write: Write) -> None:
    path = write(GOOD)
    assert load_model_file(str(path)).module is len
    assert load_model_file(f"{path}:other").module is sum


def test_examples_are_example_inputs_and_then_inputs(write: Write) -> None:
    path = write(GOOD + "    def inputs():\n        yield ([2],)\n        yield ([3],)\n")
    file = load_model_file(str(path))
    assert file.examples == (Example(([1],)), Example(([2],)), Example(([3],)))
    assert file.random_inputs is None


def test_a_file_of_a_package_is_imported_as_a_part_of_it(write: Write) -> None:
    path = write("from .shared import model, example_inputs", folder="modelfilepackage")
    (path.parent / "__init__.py").touch()
    (path.parent / "shared.py").write_text(textwrap.dedent(GOOD))
    assert load_model_file(str(path)).module is len
    assert f"modelfilepackage.{path.stem}" in sys.modules


def test_a_file_is_read_anew_each_time(write: Write) -> None:
    path = write(GOOD)
    assert load_model_file(str(path)).module is len
    path.write_text(path.read_text().replace("return len", "return max  # of another length"))
    assert load_model_file(str(path)).module is max


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def model(): return len", r"does not define example_inputs\(\)"),
        ("", r"does not define model\(\) and example_inputs\(\)"),
        ("import no_such_module", "cannot be imported: ModuleNotFoundError"),
        ("def model(: pass", "cannot be imported: SyntaxError"),
        ("def model(): return 1\ndef example_inputs(): return ()", r"model\(\) returned a int"),
        ("def model(): return 1 / 0\ndef example_inputs(): return ()", r"model\(\) failed: ZeroDivisionError"),
        (
            "def model(): return len\ndef example_inputs(): return ()\ndef inputs():\n    yield 1 / 0",
            r"inputs\(\) failed: ZeroDivisionError",
        ),
    ],
)
def test_a_bad_file_is_a_usage_error_that_says_why(write: Write, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        load_model_file(str(write(text)))
    assert caught.value.code == "TC220"


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no model file") as caught:
        load_model_file(str(tmp_path / "nothing.py"))
    assert caught.value.code == "TC220"


def test_a_file_must_not_shadow_an_imported_module(tmp_path: Path) -> None:
    path = tmp_path / "textwrap.py"
    path.write_text(textwrap.dedent(GOOD))
    with pytest.raises(UsageError, match="has the name of an imported module"):
        load_model_file(str(path))
    assert sys.modules["textwrap"] is textwrap


def test_a_module_that_is_imported_already_is_taken_as_it_is(write: Write) -> None:
    path = write(GOOD)
    sys.path.insert(0, str(path.parent))
    module = importlib.import_module(path.stem)
    assert load_model_file(str(path)).module is len
    assert sys.modules[path.stem] is module
