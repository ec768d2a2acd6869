"""What every scalar of run time has, and what it needs of whoever runs the program.

``Context`` is the part of the recorder (or of the eager run) that staged values use; the one on top of the stack serves
all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import torch

from toolchain.frontend.signals import Origin, Unsupported
from toolchain.ir import BOOL, FLOAT, INT, STR, Operand, ScalarType, Type

if TYPE_CHECKING:
    from toolchain.frontend.numbers import StagedBool, StagedNumber
    from toolchain.frontend.staged import StagedStr

NO_ORIGINS: frozenset[Origin] = frozenset()


class Context(Protocol):
    """The services of a recorder that staged values use.

    is_symbolic: values are operands of the IR; otherwise they are numbers, and everything is computed at once.
    """

    is_symbolic: bool

    def host(
        self, opcode: str, operands: tuple[Operand, ...], result: Type, attributes: tuple[object, ...] = ()
    ) -> Any: ...

    def decide(self, condition: StagedBool) -> bool: ...

    def constant(self, value: StagedNumber | StagedStr, what: str) -> Any: ...

    def raising_shows(self) -> bool:
        """Whether it matters where an exception is raised: the program may catch it, or has changed what stays."""
        ...

    def check(self, condition: StagedBool, exception: type[Exception], text: str) -> None: ...

    def box(self, number: Any) -> Any: ...

    def int_symbol(self, operand: Any, is_data: bool, origins: frozenset[Origin]) -> torch.SymInt: ...

    def float_symbol(self, operand: Any) -> torch.SymFloat: ...


_context: list[Context] = []


def push_context(context: Context) -> None:
    _context.append(context)


def pop_context() -> None:
    _context.pop()


def context() -> Context:
    return _context[-1]


def refuse(what: str, hint: str = "") -> NoReturn:
    raise Unsupported("TC120", f"{what} cannot be staged", hint)


def refuse_native_call(name: str) -> None:
    """A function that the host program is to call is called at once, by code that the machine does not interpret."""
    if _context and context().is_symbolic:
        refuse(f"a call of {name} by native code", "call it in a loop, or in a comprehension")


class Staged:
    """Base of all staged values.

    operand: the IR operand (or, when the program runs eagerly, the value itself).
    is_data: depends on tensor elements, not only on extents and on the path taken.
    origins: the block arguments that it was computed from.
    """

    __slots__ = ("is_data", "operand", "origins")
    type: Type

    def __init__(self, operand: Any, is_data: bool, origins: frozenset[Origin] = NO_ORIGINS) -> None:
        self.operand = operand
        self.is_data = is_data
        self.origins = origins

    def __hash__(self) -> int:
        if not context().is_symbolic:
            return hash(self.operand)
        if self.origins and not self.is_data:
            return hash(context().constant(self, "hash()"))  # type: ignore[arg-type]
        refuse("hash() of a value that is only known at run time", "use it as a list index or compare it instead")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.operand}>"

    def __reduce__(self) -> NoReturn:
        refuse("copying or pickling a value that is only known at run time")

    def __format__(self, spec: str) -> NoReturn:
        refuse("formatting a value that is only known at run time inside native code")

    def __str__(self) -> NoReturn:
        refuse("str() of a value that is only known at run time inside native code")


def union_origins(*values: object) -> frozenset[Origin]:
    return frozenset().union(*(v.origins for v in values if isinstance(v, Staged)))


def scalar_type(value: object) -> ScalarType:
    """The type of a staged or plain scalar."""
    if isinstance(value, Staged):
        assert isinstance(value.type, ScalarType)
        return value.type
    if isinstance(value, bool):
        return BOOL
    return INT if isinstance(value, int) else FLOAT if isinstance(value, float) else STR
