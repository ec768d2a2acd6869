"""Host operations of the C++ library against the ones of the Python host, on the same operands."""

from __future__ import annotations

import itertools
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from runtime_py import SessionError
from runtime_py.hostops import OPERATIONS

Case: TypeAlias = tuple[str, tuple[Any, ...]]

INTS = [0, 1, -1, 2, -2, 3, 7, -10, 63, 64, 15, 25, 2**31, 2**53 - 1, 2**53 + 1, -(2**53) - 1, 2**62]
INTS += [2**63 - 1, -(2**63)]
FLOATS = [
    *(0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 0.1, 2.675, 1e-5, 0.0001, 123456.789, -1.0, 3.0),
    *(1e15 + 0.5, 1e16, 1e22, 1e23, 1e308, 5e-324, 1.7976931348623157e308),
    *(float(2**53), float(2**63), -float(2**63), float("inf"), float("-inf"), float("nan")),
]
NUMBERS = [True, False, *INTS, *FLOATS]
TEXTS = ["", "a", "it's", 'say "hi"', "both ' and \"", "tab\there", "ünïcödé", "日本", "🎉", "back\\slash", "\x7f\x00"]
NUMERALS = ["12", " -3 ", "+5", "1_000", "1__0", "_1", "0x10", "1.5", "1e3", "inf", "-Infinity", "nan", "nan(1)", ""]
NUMERALS += ["9223372036854775807", "-9223372036854775808", "1_0.5", "- 1", "+-1", "1e400", ".5", "5.", "abc", " "]

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "atan2", "fmod", "hypot")
UNARY = ("neg", "pos", "abs", "round", "floor", "ceil", "trunc", "isnan", "isinf", "isfinite")
MATH = ("sqrt", "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan")
MATH += ("sinh", "cosh", "tanh", "fabs")
SPECS = [
    *("", "5", "<8", ">8", "^9", "=8", "*^9", "é<6", "08", "+", " ", "-", "+d", "#x", "#010x", "X", "#b", "o", "c"),
    *("n", ",", "_", "012,", "_b", "_x", ",.2f", "010,.1f", "d", "5d", ",d", "e", "E", ".0f", ".3f", "#.0f", "+.2e"),
    *("g", "G", ".3g", "#.3g", ".10g", ".0g", "%", ".1%", "08.3f", "<08", "z", "z.1f", "F", ".2", ".17", "#", "#.3"),
    *("s", ".3s", "q", ",_", "_,", ",,", ".", "5.", "5x5", "ß", ",s", ",x", "=", "+s", "1$", "0<5", "0>5"),
    *("z=+#012_.3f", "9" * 20),
]
DIGITS = [0, 1, 2, 15, 17, 400, -1, -2, -18, -19, -25, -400]


def numbers() -> list[Any]:
    generator = random.Random(20240)
    ints = [generator.randint(-(2**63), 2**63 - 1) >> generator.randrange(60) for _ in range(12)]
    floats = [generator.uniform(-1, 1) * 10 ** generator.uniform(-20, 25) for _ in range(25)]
    return [*NUMBERS, *ints, *floats]


def cases() -> Iterator[Case]:
    values = numbers()
    pairs = list(itertools.product(values, values))
    for op in BINARY:
        yield from ((op, pair) for pair in pairs)
    for op in ("lt", "le", "gt", "ge", "eq", "ne", "min", "max", "pow"):
        yield from ((op, pair) for pair in pairs)
    for op in ("lt", "eq", "ge", "ne"):
        yield from ((op, pair) for pair in itertools.product(TEXTS, TEXTS))
    yield from (("eq", pair) for pair in [("1", 1), (1, "1"), ("", 0.0)])
    integers = [v for v in values if not isinstance(v, float)]
    for op in ("and", "or", "xor", "lshift", "rshift"):
        yield from ((op, pair) for pair in itertools.product(integers, integers))
    yield from (("invert", (v,)) for v in integers)
    for op in (*UNARY, *MATH, "int", "float", "bool", "str", "repr", "not"):
        yield from ((op, (v,)) for v in values)
    for op in ("bool", "str", "not", "repr"):
        yield from ((op, (t,)) for t in TEXTS)
    yield from ((op, (t,)) for op in ("int", "float") for t in [*NUMERALS, *TEXTS])
    plain = [v for v in values if not isinstance(v, bool)]
    yield from (
        ("round_digits", pair) for pair in itertools.product(plain, [0, 1, 2, 15, 17, 400, -1, -2, -18, -19, -25, -400])
    )
    for conversion, spec in itertools.product(" rsa", SPECS):
        yield from (("format", (v, conversion, spec)) for v in [*values, *TEXTS])


def encoded(value: Any) -> str:
    match value:
        case bool():
            return f"b{value:d}"
        case int():
            return f"i{value}"
        case float():
            return f"f{value.hex()}"
    return "s" + value.encode().hex()


def expected(case: Case) -> Any:
    op, operands = case
    try:
        if op == "format":
            value, conversion, spec = operands
            return OPERATIONS["format"](value, parts=("<", (0, conversion.strip(), spec), ">"))
        return OPERATIONS[op](*operands)
    except Exception as error:
        return error


def line(case: Case, result: Any) -> str:
    """The driver's input for a case. Where Python's type of a result depends on values, C++ is told the type."""
    op, operands = case
    if op in ("pow", "min", "max"):
        op += f"_{type_told(op, operands, result)}"
    elif op in ("abs", "and", "or", "xor", "not", "int", "float", "bool", "str", "repr", "round"):
        op += "_"
    return "\t".join((op, *map(encoded, operands)))


def type_told(op: str, operands: tuple[Any, ...], result: Any) -> str:
    if isinstance(result, Exception):
        is_float = isinstance(result, ZeroDivisionError) or any(isinstance(o, float) for o in operands)
        return "double" if is_float else "int64_t"
    if isinstance(result, bool) and op != "pow":
        return "bool"
    return "int64_t" if isinstance(result, int) else "double"


def agree(case: Case, result: Any, answer: str) -> bool:
    if is_refused(case):
        return answer == "code RT304"
    if isinstance(result, SessionError):
        return answer == f"code {result.code}"
    if isinstance(result, Exception):
        return answer == f"raise {type(result).__name__} {str(result).encode().hex()}"
    if isinstance(result, float) and answer.startswith("f"):
        return repr(float.fromhex(answer[1:])) == repr(result)
    return answer == encoded(result)


def is_refused(case: Case) -> bool:
    """Whether this is one of the operations that C++ has for ASCII texts only."""
    op, (text, *rest) = case
    return isinstance(text, str) and not text.isascii() and (op in ("repr", "int", "float") or rest[:1] == ["r"])


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_cpp_host_operations_agree_with_python_ones(hostops_driver: Path) -> None:
    every = list(cases())
    results = list(map(expected, every))
    text = "\n".join(map(line, every, results)) + "\n"
    done = subprocess.run([hostops_driver], input=text, capture_output=True, text=True, check=True)
    answers = done.stdout.splitlines()
    assert len(answers) == len(every)
    wrong = [
        (case, result, answer)
        for case, result, answer in zip(every, results, answers, strict=True)
        if not agree(case, result, answer)
    ]
    assert not wrong, f"{len(wrong)} of {len(every)}, first {wrong[:20]}"
    assert len(every) > 50_000
