"""How the values of a program look in MLIR."""

from __future__ import annotations

import struct

from toolchain.ir import BOOL, FLOAT, INT, ListType, TensorType, TupleType, Type

VIEW, LIST = "!hal.buffer_view", "!util.list<?>"
KINDS = {"int": "i64", "float": "f64", "bool": "i1", "tensor": VIEW, "list": LIST}
# How values enter blocks and functions, leave them, and are kept. A bool is a number there: where arguments of 32 and
# of 64 bits are passed together, IREE 3.13 copies them over each other.
CROSSING = KINDS | {"bool": "i64"}
_ELEMENTS = {
    "bool": "i1",
    "uint8": "i8",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}


class Inexpressible(Exception):
    """What the VM host cannot express, as a phrase, and what to write instead."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


def kind_of(kind: Type | None) -> str:
    """The key of ``KINDS``. Raises ``Inexpressible`` for text and None."""
    match kind:
        case TensorType():
            return "tensor"
        case ListType():
            return "list"
        case _ if kind in (INT, FLOAT, BOOL):
            return str(kind)
    raise Inexpressible("text as a value" if kind is not None else "None as a value")


def mlir_type(kind: Type | None) -> str:
    return KINDS[kind_of(kind)]


def element_type(dtype: str) -> str:
    """The MLIR type of a tensor's elements; integers have no sign there."""
    return _ELEMENTS[dtype]


def view_type(dtype: str) -> str:
    """What buffer views of ``dtype`` are marked with."""
    return "ui8" if dtype == "uint8" else _ELEMENTS[dtype]


def scalar_kind(dtype: str) -> str:
    """What an element of ``dtype`` is on the host: "int", "float" or "bool"."""
    return "bool" if dtype == "bool" else "int" if dtype.startswith(("int", "uint")) else "float"


def list_kinds(kind: Type) -> tuple[str, ...]:
    """The kinds of the values that an element of a list consists of; of an always empty list they do not matter.

    Raises ``Inexpressible`` for lists of lists.
    """
    assert isinstance(kind, ListType)
    element = kind.element
    if isinstance(element, ListType):
        raise Inexpressible("a list of lists")
    if isinstance(element, TupleType):
        return tuple(map(kind_of, element.elements))
    return ("int",) if element is None else (kind_of(element),)


def literal(value: bool | int | float) -> str:
    """The attribute of an ``arith.constant``, type included."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value} : i64"
        case float():
            # The bits: decimal text would need care with exponents, infinities and signed zeros.
            return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X} : f64"


def quoted(text: str) -> str:
    """An MLIR string literal."""
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode())
    return f'"{"".join(plain)}"'
