"""Where a host or a target does something else than the rest, and why. What is not listed must be right."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """reason: why it is so.

    refused: the code with which the build refuses the program for this host or target.
    fails:   the code with which the calls end.
    texts:   texts of exceptions differ: values of run time are shown as ``{}``.
    """

    reason: str
    refused: str = ""
    fails: str = ""
    texts: bool = False


# (case, host, target); "*" stands for all.
DIFFERENCES: dict[tuple[str, str, str], Difference] = {
    ("printing", "vm", "*"): Difference("the VM has no output", refused="TC171"),
    ("chosen_text", "vm", "*"): Difference("the VM has no strings", refused="TC171"),
    ("texts", "vm", "*"): Difference("the VM has no strings", refused="TC171"),
    ("rows", "vm", "*"): Difference("the VM has no lists of lists", refused="TC171"),
    ("more_functions", "vm", "*"): Difference("the VM lacks these functions", refused="TC171"),
    ("shapes", "*", "vulkan"): Difference("IREE's Vulkan driver takes no tensor without elements", fails="RT304"),
    ("dtype_bfloat16", "*", "vulkan"): Difference("Vulkan has no such numbers", refused="TC307"),
    ("raising_values", "vm", "*"): Difference("the VM has no strings to put numbers into", texts=True),
}


def is_refused(case: str, host: str, target: str = "*") -> bool:
    known = difference(case, host, target)
    return known is not None and known.refused != ""


def difference(case: str, host: str, target: str = "*") -> Difference | None:
    keys = ((case, host, target), (case, host, "*"), (case, "*", target))
    return next((DIFFERENCES[key] for key in keys if key in DIFFERENCES), None)
