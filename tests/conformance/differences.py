"""Where a host or a target does something else than the rest, and why. What is not listed must be right."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """reason: why it is so.

    refused: the code with which the build refuses the program for this host.
    texts:   texts of exceptions differ: values of run time are shown as ``{}``.
    """

    reason: str
    refused: str = ""
    texts: bool = False


# (case, host, target); "*" stands for all.
DIFFERENCES: dict[tuple[str, str, str], Difference] = {
    ("printing", "vm", "*"): Difference("the VM has no output", refused="TC171"),
    ("chosen_text", "vm", "*"): Difference("the VM has no strings", refused="TC171"),
    ("texts", "vm", "*"): Difference("the VM has no strings", refused="TC171"),
    ("more_functions", "vm", "*"): Difference("the VM lacks these functions", refused="TC171"),
    ("raising_values", "vm", "*"): Difference("the VM has no strings to put numbers into", texts=True),
}


def difference(case: str, host: str, target: str = "*") -> Difference | None:
    keys = ((case, host, target), (case, host, "*"), (case, "*", target))
    return next((DIFFERENCES[key] for key in keys if key in DIFFERENCES), None)
