"""The functions that a program calls on the host: what hosts have to be given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from toolchain.ir.hostops import HOST_CALL
from toolchain.ir.ops import HostOp
from toolchain.ir.program import Program
from toolchain.ir.signatures import type_of
from toolchain.ir.types import ListType, TensorType, TupleType, Type

Form = Literal["none", "one", "tuple"]


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function as one or several ``host_call`` operations call it.

    parameters: their types, with all extents open; None stands for Python's ``None``. The last ones go by ``keywords``.
    form:       whether it gives None, one value, or a tuple of values.
    """

    name: str
    parameters: tuple[Type | None, ...]
    keywords: tuple[str, ...]
    form: Form
    results: tuple[Type, ...]

    def __str__(self) -> str:
        prefixes = [""] * (len(self.parameters) - len(self.keywords)) + [f"{k}=" for k in self.keywords]
        takes = ", ".join(f"{prefix}{type}" for prefix, type in zip(prefixes, self.parameters, strict=True))
        gives = ", ".join(map(str, self.results))
        return f"{self.name}({takes}) -> {gives if self.form == 'one' else f'({gives})' if gives else 'None'}"


def user_function(op: HostOp) -> UserFunction:
    """What a ``host_call`` operation calls."""
    name, keywords, form = op.attributes
    parameters = tuple(_forget_extents(type_of(o)) for o in op.operands)
    results = tuple(r.type for r in op.results)
    return UserFunction(str(name), parameters, cast(tuple[str, ...], keywords), cast(Form, form), results)


def user_functions(program: Program) -> tuple[UserFunction, ...]:
    """Every distinct function that the program calls, in order of first appearance.

    The position in this tuple is the number under which generated hosts call it.
    """
    operations = (op for f in program.functions for block in f.blocks for op in block.operations)
    calls = (op for op in operations if isinstance(op, HostOp) and op.opcode == HOST_CALL)
    return tuple(dict.fromkeys(map(user_function, calls)))


def _forget_extents(kind: Type | None) -> Type | None:
    match kind:
        case TensorType():
            return TensorType(kind.dtype, (None,) * kind.rank)
        case ListType(element=element) if element is not None:
            return ListType(_forget_extents(element))
        case TupleType():
            return TupleType(tuple(_forget_extents(e) for e in kind.elements))  # type: ignore[misc]
        case _:
            return kind
