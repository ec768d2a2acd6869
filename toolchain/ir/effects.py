"""Which operations may be dropped, moved or evaluated once for two uses."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from toolchain.ir.hostops import HOST_CALL
from toolchain.ir.ops import Call, HostOp, Operation, TensorOp
from toolchain.ir.types import FLOAT, INT, ScalarType
from toolchain.ir.values import Operand, Value

if TYPE_CHECKING:
    import torch

_EFFECTS = frozenset({"check", "print", "warn", "python_call", HOST_CALL})
# Domain errors and negative shift counts.
_RAISING_MATH = (
    *("pow", "lshift", "rshift"),
    *("sqrt", "exp", "log", "log2", "log10", "log1p", "expm1"),
    *("sin", "cos", "tan", "asin", "acos", "atan2", "sinh", "cosh", "floor", "ceil", "trunc", "fmod"),
)
_RAISING_OTHER = ("format", "list_get", "list_set", "list_pop", "list_stack", "list_cat", "list_tensor")
_RAISING = frozenset((*_RAISING_MATH, *_RAISING_OTHER))
_DIVISIONS = frozenset({"truediv", "floordiv", "mod"})
_FROM_FLOAT = frozenset({"int", "round"})


def has_effect(op: Operation) -> bool:
    """Whether the program can tell if ``op`` ran, even when nothing reads its results."""
    return isinstance(op, HostOp) and (op.opcode in _EFFECTS or may_raise(op))


def may_raise(op: Operation) -> bool:
    """Whether Python's own meaning of ``op`` includes an exception.

    Overflow beyond 64 bits does not count: Python has none, so no program can rely on where it is reported. Tensor
    operations never raise: what could is preceded by an explicit ``check``.
    """
    if not isinstance(op, HostOp):
        return False
    if op.opcode in _DIVISIONS:
        return not _is_nonzero_literal(op.operands[1])
    if op.opcode in _FROM_FLOAT:
        return _type_of(op.operands[0]) not in (INT, None)
    return op.opcode in ("check", "python_call", HOST_CALL) or op.opcode in _RAISING


def _is_nonzero_literal(operand: Operand) -> bool:
    return isinstance(operand, (int, float)) and operand != 0


def _type_of(operand: Operand) -> ScalarType | None:
    if isinstance(operand, Value) and isinstance(operand.type, ScalarType):
        return operand.type
    return FLOAT if isinstance(operand, float) else None


def is_deterministic(op: Operation) -> bool:
    """Whether two runs of ``op`` on the same operands give the same results."""
    match op:
        case TensorOp():
            return not _draws(op.target)
        case HostOp():
            return op.opcode not in _EFFECTS
        case Call():
            return False


@functools.cache
def _draws(target: str) -> bool:
    """Whether the operation takes numbers from PyTorch's generator."""
    return any(tag.name == "nondeterministic_seeded" for tag in overload(target).tags)


def is_view(op: TensorOp) -> bool:
    """Whether ``op`` makes no data of its own but looks at its operand's in another way."""
    return bool(overload(op.target).is_view)


def overload(target: str) -> torch._ops.OpOverload:
    """The ATen operation of a ``TensorOp.target`` such as ``"aten.add.Tensor"``.

    Raises AttributeError when this version of PyTorch has no such operation.
    """
    import torch  # verbs of the command line that touch no model load this module too

    namespace, name, variant = target.split(".")
    found = getattr(getattr(getattr(torch.ops, namespace), name), variant)
    assert isinstance(found, torch._ops.OpOverload)
    return found
