"""How verbs print: one JSON object or text on standard output, errors and progress on standard error."""

from __future__ import annotations

import json
import math
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from toolchain.diagnostics import ToolchainError, UnsupportedModelError

json_option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of text; errors too."
)


def show(as_json: bool, payload: Mapping[str, object], text: str) -> None:
    """Prints ``payload`` as JSON, or ``text``."""
    click.echo(to_json(payload) if as_json else text)


def to_json(payload: object) -> str:
    """Strict JSON: numbers that it does not know become the strings "nan", "inf" and "-inf"."""
    return json.dumps(_finite(payload), indent=1, allow_nan=False)


def _finite(value: object) -> object:
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case Mapping():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
    return value


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Plain aligned columns: the same on a terminal, in a pipe and in the documentation."""
    cells = [tuple(header), *(tuple(map(str, row)) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells)


def show_error(error: BaseException, as_json: bool) -> int:
    """Reports ``error`` and returns the exit code that belongs to it."""
    code, message, exit_code = _classified(error)
    if as_json:
        problems = error.problems if isinstance(error, UnsupportedModelError) else ()
        payload = {"code": code, "message": message, "problems": [problem_json(p) for p in problems]}
        click.echo(to_json(payload))
    elif isinstance(error, click.ClickException):
        error.show()
    elif code is not None:
        click.echo(f"error: {error}", err=True)
    if code is None:
        traceback.print_exception(error, file=sys.stderr)
    return exit_code


def problem_json(problem: object) -> dict[str, object]:
    """The fields that the contract promises for a problem."""
    return {name: getattr(problem, name) for name in ("code", "file", "line", "message", "hint")}


def _classified(error: BaseException) -> tuple[str | None, str, int]:
    """(code, message, exit code); the code is None for what nobody raised on purpose."""
    if isinstance(error, ToolchainError):
        return error.code, error.message, error.exit_code
    if isinstance(error, click.ClickException):
        return "TC200", error.format_message(), 2
    # The runtime's errors are told by their code, so that `toolchain --help` need not import the runtime.
    code = getattr(error, "code", None)
    if isinstance(code, str) and code.startswith("RT"):
        return code, str(error), 2 if code.startswith("RT2") else 1
    return None, f"{type(error).__name__}: {error}", 1
