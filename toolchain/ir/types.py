"""Types of IR values. Every value of a program has exactly one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

ScalarKind: TypeAlias = Literal["int", "float", "bool", "str", "object"]


@dataclass(frozen=True, slots=True)
class TensorType:
    """A dense tensor.

    dtype: PyTorch's name without the ``torch.`` prefix, e.g. ``"float32"``.
    dims:  one entry per dimension; None where the extent is only known at run time.
    """

    dtype: str
    dims: tuple[int | None, ...]

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def is_static(self) -> bool:
        return None not in self.dims

    def __str__(self) -> str:
        dims = "x".join("?" if d is None else str(d) for d in self.dims)
        return f"tensor<{dims + 'x' if self.dims else ''}{self.dtype}>"


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A Python scalar on the host: int (64 bits, overflow checked), float (double), bool, str or any object."""

    kind: ScalarKind

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class TupleType:
    """A fixed number of values; only found as the element of a host list."""

    elements: tuple[Type, ...]

    def __str__(self) -> str:
        return "tuple<" + ", ".join(map(str, self.elements)) + ">"


@dataclass(frozen=True, slots=True)
class ListType:
    """A host list whose length is only known at run time. ``element`` None: the list is always empty."""

    element: Type | None

    def __str__(self) -> str:
        return f"list<{self.element or ''}>"


Type: TypeAlias = TensorType | ScalarType | TupleType | ListType

INT = ScalarType("int")
FLOAT = ScalarType("float")
BOOL = ScalarType("bool")
STR = ScalarType("str")
OBJECT = ScalarType("object")
