"""The VM host's arithmetic is Python's, its text is what the VM needs, and each work-around is still needed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import iree.runtime as iree
import pytest

from hostgen.vm.library import library_for
from runtime_py.device import open_device
from runtime_py.hostops import OPERATIONS
from runtime_py.vm import exception_of
from toolchain.lowering.iree import MlirModule, compile_module, find_compiler
from toolchain.lowering.targets import parse_target
from toolchain.lowering.vm import compile_host

INTS = (0, 1, -1, 2, -2, 3, 7, -10, 63, 64, 2**31, 2**32, 2**53, -(2**53), 2**62, 2**63 - 1, -(2**63), -(2**63) + 1)
FLOATS = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, 0.1, 1e-300, 1e300, 2.0**53, -(2.0**63), 2.0**63, 700.0)
SPECIAL = (math.inf, -math.inf, math.nan)
INT_PAIRS = ("add", "sub", "mul", "floordiv", "mod", "lshift", "rshift")
FLOAT_PAIRS = ("truediv", "mod", "floordiv", "pow", "atan2", "fmod")
FLOAT_ONES = (
    *("sqrt", "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tanh", "atan", "fabs"),
    *("int", "round", "floor", "ceil", "isnan", "isinf", "isfinite"),
)
TO_INT, TO_BOOL = ("int", "round", "floor", "ceil"), ("isnan", "isinf", "isfinite")

Call = Callable[..., Any]


def declared(opcode: str, kind: str, arity: int) -> str:
    """A public function around one of the library."""
    of = {"int": "i64", "float": "f64"}[kind]
    to = "i64" if opcode in TO_INT else "i1" if opcode in TO_BOOL else "f64" if opcode == "truediv" else of
    parameters = ", ".join(f"%x{i}: {of}" for i in range(arity))
    names, types = ", ".join(f"%x{i}" for i in range(arity)), ", ".join([of] * arity)
    return (
        f"util.func public @call_{opcode}_{kind}({parameters}) -> {to} {{\n"
        f"  %0 = util.call @{opcode}_{kind}({names}) : ({types}) -> {to}\n  util.return %0 : {to}\n}}"
    )


@pytest.fixture(scope="module")
def library() -> Callable[[str], Call]:
    """Functions of the library as Python functions, which raise what a program would."""
    functions = [declared(op, "int", 2) for op in (*INT_PAIRS, "truediv", "pow")]
    functions += [declared(op, "int", 1) for op in ("neg", "abs")]
    functions += [declared(op, "float", 2) for op in FLOAT_PAIRS] + [declared(op, "float", 1) for op in FLOAT_ONES]
    body = "\n".join(functions)
    entry = compile_host(f"module @arithmetic {{\n{body}\n{library_for(body)}\n}}", parse_target("cpu"))
    vm = iree.VmInstance()
    module = iree.VmModule.mmap(vm, str(entry.path))
    context = iree.VmContext(vm, [iree.create_hal_module(vm, open_device("cpu").hal), module])

    def look_up(name: str) -> Call:
        function = module.lookup_function(f"call_{name}")

        def call(*operands: float) -> Any:
            arguments, results = iree.VmVariantList(2), iree.VmVariantList(1)
            for operand in operands:
                push = arguments.push_float if isinstance(operand, float) else arguments.push_int
                push(operand)
            try:
                context.invoke(function, arguments, results)
            except Exception as error:
                raise exception_of(str(error)) from error
            return results.get_variant(0)

        return call

    return look_up


def outcome(function: Call, operands: tuple[Any, ...]) -> tuple[str, str]:
    """The result exactly, or the exception."""
    try:
        result = function(*operands)
    except Exception as error:
        text = str(error)
        return type(error).__name__, "" if "RT307" in text or "RT304" in text else text
    return "result", repr(int(result) if isinstance(result, bool) else result)


def check(function: Call, opcode: str, cases: list[tuple[Any, ...]]) -> None:
    mine = [outcome(function, operands) for operands in cases]
    assert mine == [outcome(OPERATIONS[opcode], operands) for operands in cases]


@pytest.mark.parametrize("opcode", INT_PAIRS)
def test_arithmetic_of_two_ints(opcode: str, library: Callable[[str], Call]) -> None:
    check(library(f"{opcode}_int"), opcode, list(itertools.product(INTS, INTS)))


@pytest.mark.parametrize("opcode", ["neg", "abs"])
def test_arithmetic_of_one_int(opcode: str, library: Callable[[str], Call]) -> None:
    check(library(f"{opcode}_int"), opcode, [(value,) for value in INTS])


def test_powers_of_ints(library: Callable[[str], Call]) -> None:
    check(library("pow_int"), "pow", list(itertools.product(INTS, (0, 1, 2, 3, 5, 62, 63, 64))))


def test_quotients_of_ints_are_right_or_refused(library: Callable[[str], Call]) -> None:
    exact = [value for value in INTS if abs(value) <= 2**53]
    check(library("truediv_int"), "truediv", list(itertools.product(exact, exact)))
    assert outcome(library("truediv_int"), (2**53 + 1, 3)) == ("HostOverflowError", "")


@pytest.mark.parametrize("opcode", FLOAT_PAIRS)
def test_arithmetic_of_two_floats(opcode: str, library: Callable[[str], Call]) -> None:
    check(library(f"{opcode}_float"), opcode, list(itertools.product((*FLOATS, *SPECIAL), repeat=2)))


@pytest.mark.parametrize("opcode", FLOAT_ONES)
def test_functions_of_a_float(opcode: str, library: Callable[[str], Call]) -> None:
    check(library(f"{opcode}_float"), opcode, [(value,) for value in (*FLOATS, *SPECIAL)])


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        ("<vm>:0: FAILED_PRECONDITION; ValueError: a; b [net.py:3]; ", "ValueError", "a; b"),
        (
            "FAILED_PRECONDITION; IndexError: list index out of range; \n[ 0] bytecode",
            "IndexError",
            "list index out of range",
        ),
        ("FAILED_PRECONDITION; AssertionError:  [net.py:3]; ", "AssertionError", ""),
        ("FAILED_PRECONDITION; ValueError: so; while\nnot [net.py:3]; \n[ 0] x", "ValueError", "so; while\nnot"),
        ("FAILED_PRECONDITION; [RT203] x: expected 2 dimensions; ", "InputError", "[RT203] x: expected 2 dimensions"),
    ],
)
def test_a_status_is_read_as_an_exception(status: str, kind: str, text: str) -> None:
    error = exception_of(status)
    assert (type(error).__name__, str(error)) == (kind, text)


TWICE = """
module @twice {
  util.func private @made(%n: i64) -> !util.list<?> attributes {inlining_policy = #util.inline.never} {
    %c1 = arith.constant 1 : index
    %list = util.list.create %c1 : !util.list<?>
    util.return %list : !util.list<?>
  }
  util.func public @run(%n: i64) -> (!util.list<?>, !util.list<?>) {
    %zero = arith.constant 0 : i64
    %list = util.call @made(%n) : (i64) -> !util.list<?>
    %again = arith.cmpi ne, %n, %zero : i64
    cf.cond_br %again, ^more(%n, %list, %list : i64, !util.list<?>, !util.list<?>), ^end(%list : !util.list<?>)
  ^more(%i: i64, %a: !util.list<?>, %b: !util.list<?>):
    %next = util.call @made(%i) : (i64) -> !util.list<?>
    %last = arith.cmpi eq, %i, %zero : i64
    cf.cond_br %last, ^done, ^more(%zero, %next, %b : i64, !util.list<?>, !util.list<?>)
  ^done:
    util.return %a, %b : !util.list<?>, !util.list<?>
  ^end(%only: !util.list<?>):
    util.return %only, %only : !util.list<?>, !util.list<?>
  }
}
"""


def test_a_reference_returned_twice_is_lost() -> None:
    """When this fails, ``hostgen.vm.sharing`` is not needed any more."""
    vm = iree.VmInstance()
    module = iree.VmModule.mmap(vm, str(compile_host(TWICE, parse_target("cpu")).path))
    context = iree.VmContext(vm, [iree.create_hal_module(vm, open_device("cpu").hal), module])
    arguments, results = iree.VmVariantList(1), iree.VmVariantList(2)
    arguments.push_int(0)
    context.invoke(module.lookup_function("run"), arguments, results)
    assert [results.get_variant(i) is None for i in range(2)].count(True) == 1


def test_the_vm_cannot_convert_a_double_to_an_integer(tmp_path: Path) -> None:
    """When this fails, the function ``truncated`` of the library can be one operation."""
    text = (
        "module @m { util.func public @f(%x: f64) -> i64 { %y = arith.fptosi %x : f64 to i64\n util.return %y : i64 } }"
    )
    flags = ("--iree-input-demote-f64-to-f32=false", *parse_target("cpu").compile_flags)
    with pytest.raises(Exception, match="fptosi"):
        compile_module(MlirModule(text, ()), flags, tmp_path / "m.vmfb", find_compiler())
