"""Texts of exceptions. The VM has no strings: a text is known when the host is generated, but for values of run time.

These are shown as ``{}``.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from toolchain.ir import STR, UNKNOWN_LOCATION, HostOp, Location, Operand, Raise, Value

HOLE = "{}"
# Operations whose result is text.
TEXT_OPCODES = frozenset({"format", "concat", "str", "repr"})
_CONVERSIONS: Mapping[str, Any] = {"": lambda x: x, "r": repr, "s": str, "a": ascii}


class Texts:
    """The texts of one function's values, as far as they are known."""

    def __init__(self) -> None:
        self._known: dict[Value, str] = {}

    def define(self, op: HostOp) -> None:
        """Notes the text that ``op``, one of ``TEXT_OPCODES``, gives."""
        match op.opcode:
            case "format":
                parts: Any = op.attributes[0]
                text = "".join(p if isinstance(p, str) else self._formatted(op.operands[p[0]], *p[1:]) for p in parts)
            case "concat":
                text = "".join(map(self.of, op.operands))
            case _:
                text = self._formatted(op.operands[0], op.opcode[0], "")
        self._known[op.results[0]] = text

    def of(self, operand: Operand) -> str:
        """What ``str`` makes of ``operand``."""
        return self._formatted(operand, "", "")

    def _formatted(self, operand: Operand, conversion: str, spec: str) -> str:
        if not isinstance(operand, Value):
            return format(_CONVERSIONS[conversion](operand), spec)
        known = self._known.get(operand) if operand.type == STR else None
        if known is None or HOLE in known:
            return HOLE if known is None or spec or conversion in ("r", "a") else known
        return format(_CONVERSIONS[conversion](known), spec)

    def of_exception(self, node: Raise) -> str:
        """``Type: text`` and the user's line, as in a traceback."""
        if any(isinstance(a, Value) for a in node.arguments):
            text = self.of(node.arguments[0]) if len(node.arguments) == 1 else HOLE
        else:
            text = _text_of(getattr(builtins, node.exception)(*node.arguments))
        return failure(node.exception, text, node.location)


def _text_of(exception: BaseException) -> str:
    # The text of a KeyError is its key in quotes: what it is made from is the key.
    return str(exception.args[0]) if len(exception.args) == 1 else str(exception)


def failure(exception: str, text: str, location: Location) -> str:
    """The message of the status that stands for an exception."""
    place = "" if location == UNKNOWN_LOCATION else f" [{PurePath(location.file).name}:{location.line}]"
    return f"{exception}: {text}{place}"
