"""Problems as text: numbered, with the user's line and a caret."""

from __future__ import annotations

import linecache
from collections.abc import Sequence

from toolchain.diagnostics.errors import Problem


def render_problem(problem: Problem, number: int) -> str:
    lines = [f"{number}. [{problem.code}] {problem.file}:{problem.line}: {problem.message}"]
    source = linecache.getline(problem.file, problem.line).rstrip("\n")
    if source.strip():
        width = max(1, problem.end_column - problem.column)
        lines += [f"     {source}", "     " + " " * problem.column + "^" * width]
    if problem.hint:
        lines.append(f"   instead: {problem.hint}")
    return "\n".join(lines)


def render_problems(problems: Sequence[Problem]) -> str:
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return f"the model cannot be built ({count})\n" + "\n".join(render_problem(p, i) for i, p in enumerate(problems, 1))
