"""The table of host operations: everything a host program computes outside of subgraphs.

An entry gives the arity, the type rule and what the opcode means, in Python's own semantics: integers are exact within
64 bits (overflow is an error), floats are doubles, ``//`` and ``%`` floor, rounding is to even. All hosts implement
exactly this table; the executable definition is ``runtime_py.hostops``.

Scalar opcodes are named after Python's operator functions. ``list`` opcodes are functional: they return a new list.
"""

from __future__ import annotations

ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos", "abs", "min", "max")
BITWISE = ("and", "or", "xor", "invert", "lshift", "rshift")
COMPARISON = ("lt", "le", "gt", "ge", "eq", "ne", "not")
CONVERSION = ("int", "float", "bool", "round", "round_digits", "str", "repr")
MATH = [
    "sqrt",
    "exp",
    "log",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "floor",
    "ceil",
    "trunc",
    "fabs",
    "fmod",
    "hypot",
    "isnan",
    "isinf",
    "isfinite",
]

# opcode -> one line of meaning; operands in parentheses, attributes in brackets.
OTHER = {
    "item": "(tensor) -> scalar: the only element; int, float or bool as the tensor's dtype says",
    "dim": "(tensor) [index] -> int: the extent of one dimension",
    "check": "(bool) [exception type, text]: raises unless the operand is true",
    "python_call": "(operands...) [(function, keywords...)] -> scalar: calls the function of Python that is "
    "imported as module:qualified.name; the last operands go by keyword. Hosts in Python only",
    "full": "(scalar) [dtype name, dims...] -> tensor: a 0-d tensor of that dtype when dims is empty",
    "format": "(scalars...) [parts]: str; parts are literal texts and (operand index, conversion, format spec) tuples",
    "concat": "(str...) -> str",
    "print": "(str) [end text]: writes to standard output",
    "warn": "(str) [category name]: issues a warning",
    "select": "(bool, a, b) -> a if the first operand is true, else b (scalars, tensors or lists)",
    "list": "(elements...) -> list; a tuple element takes several operands, in order [tuple arity or 0]",
    "list_len": "(list) -> int",
    "list_get": "(list, int) -> element; negative indices count from the end; IndexError outside. "
    "Tuples: one result each",
    "list_set": "(list, int, element...) -> list",
    "list_append": "(list, element...) -> list",
    "list_insert": "(list, int, element...) -> list",
    "list_pop": "(list, int) -> list without that element; IndexError when empty or outside",
    "list_extend": "(list, list) -> list",
    "list_slice": "(list, start, stop) -> list; None operands mean the ends",
    "list_reverse": "(list) -> list",
    "list_stack": "(list of tensors) -> tensor with a new leading dim; all of one shape, RuntimeError when empty",
    "list_cat": "(list of tensors) [dim] -> tensor; RuntimeError when empty",
    "list_tensor": "(list of scalars) [dtype name] -> 1-d tensor",
    "tensor_list": "(tensor with dims) -> (nested) list of scalars",
}

OPCODES = frozenset((*ARITHMETIC, *BITWISE, *COMPARISON, *CONVERSION, *MATH, *OTHER))

HOST_CALL = "host_call"
"""The operation whose meaning is not in the table: ``(operands...) [name, (keywords...), form] -> results...``.

It calls the function ``name``, which the user supplies. Tensors go as arrays, the last operands by keyword; ``form``
says whether it gives None ("none"), one value ("one") or a tuple of them ("tuple"). It may raise anything, and must
give the results' types. The executable definition is ``runtime_py.host_calls``.
"""
