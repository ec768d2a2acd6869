"""Strings, lists, arrays and other objects that are only known when the compiled program runs.

Like the numbers they are what the user's code holds; an operation is staged (recorded as a host operation), a decision,
or refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import torch

from toolchain.frontend.context import NO_ORIGINS, Staged, context, refuse, union_origins
from toolchain.frontend.numbers import wrap_number
from toolchain.frontend.signals import Origin
from toolchain.ir import BOOL, INT, OBJECT, STR, Type


class StagedStr(Staged):
    """A string made from staged values (an f-string), or another one on each path; it can be joined, printed, raised
    and returned. Everything else needs a constant: the paths stay apart then."""

    __slots__ = ()
    type = STR

    def constant(self, what: str) -> str:
        return str(context().constant(self, f"{what} of a string"))

    def __add__(self, other: object) -> Any:
        return concat(self, other)

    def __radd__(self, other: object) -> Any:
        return concat(other, self)

    def __eq__(self, other: object) -> Any:
        return isinstance(other, (str, StagedStr)) and self._compared("eq", operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return not isinstance(other, (str, StagedStr)) or self._compared("ne", operator.ne, other)

    def _compared(self, opcode: str, function: Callable[[Any, Any], Any], other: Any) -> Any:
        """By the host if data is in the text; on each path if paths choose it, since it is there to tell them apart."""
        if self.origins or getattr(other, "origins", None) or not isinstance(other, (str, StagedStr)):
            return function(self.constant("comparison"), _plain(other))
        return wrap(context().host(opcode, (self.operand, operand_of(other)), BOOL), BOOL, True)

    def __hash__(self) -> int:
        return hash(self.constant("hash()"))

    def __bool__(self) -> bool:
        return bool(self.constant("truth"))

    def __len__(self) -> int:
        return len(self.constant("len()"))

    def __iter__(self) -> Iterator[str]:
        return iter(self.constant("iteration"))

    def __getitem__(self, key: Any) -> Any:
        return self.constant("indexing")[key]

    def __contains__(self, item: Any) -> bool:
        return _plain(item) in self.constant("a search")

    def __mod__(self, values: Any) -> Any:
        return self.constant("formatting") % values

    def __mul__(self, times: Any) -> Any:
        return self.constant("repetition") * times

    __rmul__ = __mul__

    def __lt__(self, other: Any) -> Any:
        return self._compared("lt", operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._compared("le", operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._compared("gt", operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._compared("ge", operator.ge, other)


def _plain(text: Any) -> Any:
    return text.constant("comparison") if isinstance(text, StagedStr) else text


class StagedObject(Staged):
    """A value of another type that only the host program has (``machine/objects.py``)."""

    __slots__ = ()
    type = OBJECT

    def __eq__(self, other: object) -> Any:
        return refuse("comparing such a value inside native code")

    __hash__ = Staged.__hash__

    def __bool__(self) -> NoReturn:
        refuse("the truth of such a value inside native code")

    def __len__(self) -> NoReturn:
        refuse("the length of such a value inside native code")


def concat(*parts: object) -> Any:
    if not all(isinstance(p, (str, StagedStr)) for p in parts):
        return NotImplemented
    staged = [p for p in parts if isinstance(p, StagedStr)]
    operands = tuple(operand_of(p) for p in parts)
    return wrap(context().host("concat", operands, STR), STR, any(p.is_data for p in staged), union_origins(*staged))


class HostList:
    """A list whose length is only known at run time. Mutable like a list: ``operand`` is the current value.

    template: what an element looks like (staged scalars, tensors, lists, tuples of them), for types and dims.
    is_part: it is (or was) an element of another host list, which holds its contents: it must not change any more.
    """

    __slots__ = ("is_part", "operand", "origins", "template")

    def __init__(
        self, operand: Any, template: Any, origins: frozenset[Origin] = NO_ORIGINS, is_part: bool = False
    ) -> None:
        self.operand = operand
        self.template = template
        self.origins = origins
        self.is_part = is_part

    def __bool__(self) -> bool:
        return bool(context_length(self) > 0)

    def __iter__(self) -> Iterator[Any]:
        refuse("iterating over a list of unknown length inside native code", "iterate with a for statement")

    def __len__(self) -> int:
        return int(context().constant(context_length(self), "len() inside native code"))


class Array:
    """A ``numpy.ndarray`` of run time, in the memory of ``tensor``."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def __index__(self) -> NoReturn:
        refuse("an array that is only known at run time, in native code,")

    __float__ = __bool__ = __len__ = __iter__ = __array__ = __index__
    __hash__ = None  # type: ignore[assignment]


class Scalar(Array):
    """A ``numpy.generic`` of run time: a tensor without dims whose memory nobody else sees."""

    __slots__ = ()


def context_length(items: HostList) -> Any:
    return wrap(context().host("list_len", (items.operand,), INT), INT, False, items.origins)


def operand_of(value: object) -> Any:
    return value.operand if isinstance(value, (Staged, HostList)) else value


def wrap(
    operand: Any, type_: Type, is_data: bool, origins: frozenset[Origin] = NO_ORIGINS, sym: Any = None, expr: Any = None
) -> Any:
    """The staged scalar of ``type_`` that holds ``operand``."""
    if type_ == STR:
        return StagedStr(operand, is_data, origins)
    if type_ == OBJECT:
        return StagedObject(operand, is_data, origins)
    return wrap_number(operand, type_, is_data, origins, sym, expr)
