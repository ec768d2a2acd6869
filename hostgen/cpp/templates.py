"""Templates of the C++ host."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import jinja2

from hostgen.statements import LINE_LENGTH


def render(template: str, **context: object) -> str:
    """The text of a template of this host."""
    return _environment().get_template(f"cpp/{template}").render(**context)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hostgen"), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    environment.globals["declaration"] = declaration
    return environment


def declaration(start: str, parameters: Iterable[str]) -> str:
    """``start(parameters...)``, with as many parameters on a line as fit."""
    indent = " " * (len(start) - len(start.lstrip()) + 4)
    lines = [f"{start}("]
    for number, parameter in enumerate(parameters):
        separator = ", " if number else ""
        if len(lines[-1]) + len(separator) + len(parameter) + len(");") > LINE_LENGTH:
            lines[-1] += separator.rstrip()
            lines.append(indent + parameter)
        else:
            lines[-1] += separator + parameter
    return "\n".join(lines) + ")"
