"""What a caller hands to ``toolchain.build`` besides the module. Importing this needs neither torch nor IREE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from toolchain.diagnostics import UsageError

# Called with (stage, steps done, steps in all) while a build goes on; 0 steps in all means that nobody knows.
ProgressCallback: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Dynamic:
    """Marks a Python number of an example as an input of its own instead of a constant.

    value: what this example passes; its type becomes the input's type.
    """

    value: int | float | bool


@dataclass(frozen=True, slots=True)
class Example:
    """One call of the module: ``module(*args, **kwargs)``. Leaves are tensors and Python values."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build; nothing here changes what the bundle computes.

    jobs:         compilations that run at the same time; None means one for each processor.
    cache_dir:    where compiled modules are kept; None means the user's cache folder.
    debug:        adds ``debug/`` to the bundle: the control-flow graph as text and for Graphviz.
    budget:       the most blocks that exploring may make before the model is refused.
    iree_compile: another ``iree-compile`` than the installed package's, for a device with another runtime version.
    progress:     is told how far the build has come.
    """

    jobs: int | None = None
    cache_dir: Path | None = None
    debug: bool = False
    budget: int = 20_000
    iree_compile: Path | None = None
    progress: ProgressCallback | None = None


def as_examples(examples: object) -> tuple[Example, ...]:
    """The examples in one form, from an args tuple, an ``Example``, or a sequence of either.

    Raises ``UsageError`` TC221 for anything else, and for none at all.
    """
    match examples:
        case Example():
            return (examples,)
        case tuple() if not examples or not all(isinstance(e, Example) for e in examples):
            return (Example(examples),)
        case Sequence() if examples and not isinstance(examples, str):
            return tuple(_as_example(e, i) for i, e in enumerate(examples))
    raise UsageError(
        "TC221",
        f"examples must be a tuple of arguments or a non-empty list of them, not {_described(examples)}",
        "write (x,) for a call with one argument, and [(x,), (y,)] for two calls",
    )


def _as_example(example: object, index: int) -> Example:
    match example:
        case Example():
            return example
        case tuple():
            return Example(example)
    raise UsageError(
        "TC221",
        f"example {index} must be a tuple of arguments or a toolchain.Example, not {_described(example)}",
        "write [(x,), (y,)] for two calls with one argument each",
    )


def _described(value: object) -> str:
    return "an empty list" if value == [] else f"a {type(value).__name__}"
