"""Text of an expression in a host language, with parentheses where operators need them."""

from __future__ import annotations

from dataclasses import dataclass

ATOM = 100
"""Binds tighter than any operator."""


@dataclass(frozen=True, slots=True)
class Expression:
    """text, and how tightly its outermost operator binds: a number on the language's own scale, or ``ATOM``."""

    text: str
    binding: int = ATOM

    def within(self, binding: int) -> str:
        """The text as an operand of an operator that needs at least ``binding``."""
        return self.text if self.binding >= binding else f"({self.text})"
