"""Model files: Python files that define ``model()`` and the calls it is built for.

model()                 the module (or another factory, named as FILE.py:factory)
example_inputs()        the arguments of one call
inputs()                optional: an iterable of further calls
random_inputs(n, seed)  optional: n calls for ``verify``
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from toolchain.diagnostics import UsageError
from toolchain.options import Example, as_examples

_loaded: dict[str, ModuleType] = {}


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A loaded model file.

    module:        what the factory returned.
    examples:      ``example_inputs()`` and then all of ``inputs()``.
    random_inputs: the file's own generator of calls, if it has one.
    """

    path: Path
    module: Callable[..., Any]
    examples: tuple[Example, ...]
    random_inputs: Callable[[int, int], Iterable[Any]] | None


def load_model_file(spec: str) -> ModelFile:
    """Loads ``FILE.py`` or ``FILE.py:factory``. Raises ``UsageError`` TC220 when the file does not deliver."""
    head, colon, factory = spec.rpartition(":")
    path, factory = (Path(head), factory) if colon and factory.isidentifier() else (Path(spec), "model")
    source = import_file(path)
    missing = [name for name in (factory, "example_inputs") if not callable(getattr(source, name, None))]
    if missing:
        raise _unusable(path, f"does not define {' and '.join(f'{name}()' for name in missing)}")
    module = _call(path, source, factory)
    calls = [_call(path, source, "example_inputs")]
    if hasattr(source, "inputs"):
        calls += _call(path, source, "inputs")
    if not callable(module):
        raise _unusable(path, f"{factory}() returned a {type(module).__name__}, which cannot be called")
    return ModelFile(path, module, as_examples(calls), getattr(source, "random_inputs", None))


def import_file(path: Path) -> ModuleType:
    """Imports ``path`` under its own name, so that a bundle can name the classes that the model returns."""
    path = path.resolve()
    if not path.is_file():
        raise UsageError(
            "TC220", f"there is no model file {path}", "give the path of a Python file that defines model()"
        )
    root, name = _root_and_name(path)
    imported = sys.modules.get(name)
    if imported is not None and imported is not _loaded.get(name):
        if getattr(imported, "__file__", None) == str(path):
            return imported  # by the program that calls us
        raise _unusable(path, f"has the name of an imported module, {name!r}", "rename the file")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise _unusable(path, "is not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        if spec.parent:
            importlib.import_module(spec.parent)
        sys.modules[name] = _loaded[name] = module
        spec.loader.exec_module(module)
    except Exception as error:
        sys.modules.pop(name, None)
        raise _unusable(path, f"cannot be imported: {type(error).__name__}: {error}") from error
    return module


def _root_and_name(path: Path) -> tuple[Path, str]:
    """The folder to import from and the dotted name: a file inside a package is imported as a part of it."""
    root, parts = path.parent, [path.stem]
    while (root / "__init__.py").exists():
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)


def _call(path: Path, source: ModuleType, function: str) -> Any:
    try:
        result = getattr(source, function)()
        return list(result) if function == "inputs" else result
    except Exception as error:
        raise _unusable(path, f"{function}() failed: {type(error).__name__}: {error}") from error


def _unusable(path: Path, why: str, hint: str = "") -> UsageError:
    return UsageError("TC220", f"model file {path} {why}", hint or "see docs/guide.md for what a model file defines")
