"""How messages and names of values speak of what is merged."""

from __future__ import annotations

from typing import Any

from toolchain.frontend.context import Staged
from toolchain.frontend.heap import EMPTY_CELL
from toolchain.frontend.machine.frame import NULL
from toolchain.frontend.merge.hints import Path


def kind_of(value: Any) -> str:
    return (
        "None" if value is None else "nothing" if value is NULL or value is EMPTY_CELL else f"a {type(value).__name__}"
    )


def show(value: Any) -> str:
    return "a run-time value" if isinstance(value, Staged) else "nothing" if value is NULL else repr(value)[:60]


def show_labels(labels: tuple[Any, ...]) -> str:
    return "[" + ", ".join(str(label[1] if isinstance(label, tuple) else label) for label in labels)[:80] + "]"


def describe(path: Path) -> str:
    """A path of the abstract state in words of the program."""
    return ".".join(_words(path)) or "the state"


def name_of(path: Path) -> str:
    """The name of the argument for the leaf ``path``."""
    name = "_".join(w for w in _words(path) if not w.isdigit())[-24:]
    return "".join(c if c.isalnum() else "_" for c in name).strip("_")


def _words(path: Path) -> list[str]:
    return [
        str(p[1] if isinstance(p, tuple) and len(p) > 1 else p) for p in path if p not in ("frame", "world", "stack")
    ]
