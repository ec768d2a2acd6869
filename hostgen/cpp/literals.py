"""Python constants as C++ literals."""

from __future__ import annotations

import math


def literal(value: object) -> str:
    """A constant expression of type bool, std::int64_t (or int), double, std::string or ``toolchain::None``."""
    match value:
        case None:
            return "toolchain::None{}"
        case bool():
            return "true" if value else "false"
        case int():
            return _integer(value)
        case float():
            return _double(value)
        case str():
            return f"{quoted(value)}s"
    raise AssertionError(f"no host value: {value!r}")


def _integer(value: int) -> str:
    # The least integer has no literal: a minus sign would follow what is already too large.
    return "INT64_MIN" if value == -(2**63) else str(value)


def _double(value: float) -> str:
    if math.isnan(value):
        return "std::numeric_limits<double>::quiet_NaN()"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}std::numeric_limits<double>::infinity()"
    return repr(value)


def quoted(text: str) -> str:
    """A narrow string literal in UTF-8. With the suffix ``s`` it may hold null characters."""
    return f'"{"".join(map(_escaped, text.encode("utf-8", "surrogatepass")))}"'


def _escaped(byte: int) -> str:
    character = chr(byte)
    if character in '"\\':
        return f"\\{character}"
    if character == "\n":
        return "\\n"
    # Octal escapes end after three digits, hexadecimal ones do not. A question mark could begin a trigraph.
    return character if 32 <= byte < 127 and character != "?" else f"\\{byte:03o}"
