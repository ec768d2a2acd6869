"""The exception tree of the toolchain.

    ToolchainError              .code, .hint
    ├── UnsupportedModelError   .problems: the model cannot be staged (exit code 3)
    ├── UsageError              a wrong argument: target name, output path, example (exit code 2)
    ├── LoweringError           a subgraph does not compile (exit code 1)
    ├── VerificationError       a bundle disagrees with eager (exit code 4)
    └── ToolEnvironmentError    a tool is missing or has the wrong version (exit code 5)

Codes are stable; ``toolchain.diagnostics.codes`` lists them with a title each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a model cannot be built.

    file, line:         the user's source (1-based line; 0 when there is none).
    column, end_column: 0-based span of the offending expression; equal when unknown.
    message:            what is wrong, in terms of the user's program.
    hint:               what to write instead.
    """

    code: str
    file: str
    line: int
    message: str
    hint: str = ""
    column: int = 0
    end_column: int = 0


class ToolchainError(Exception):
    """Base of everything that this package raises on purpose."""

    exit_code = 1

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(f"[{code}] {message}" + (f"\n  hint: {hint}" if hint else ""))
        self.code = code
        self.message = message
        self.hint = hint


class UsageError(ToolchainError):
    exit_code = 2


class UnsupportedModelError(ToolchainError):
    """The program cannot be staged; raised before anything is compiled, with every problem found."""

    exit_code = 3

    def __init__(self, problems: Sequence[Problem]) -> None:
        from toolchain.diagnostics.render import render_problems

        self.problems = tuple(problems)
        super().__init__(self.problems[0].code, render_problems(self.problems))


class LoweringError(ToolchainError):
    """file, line: the user's source that the failing subgraph comes from; line 0 when there is none."""

    exit_code = 1

    def __init__(self, code: str, message: str, hint: str = "", file: str = "", line: int = 0) -> None:
        super().__init__(code, message, hint)
        self.file = file
        self.line = line


class VerificationError(ToolchainError):
    exit_code = 4


class ToolEnvironmentError(ToolchainError):
    exit_code = 5
