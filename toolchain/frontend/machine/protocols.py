"""Operators, truth and membership of the user's classes: their special methods are interpreted, never run natively,
since native code would see staged values for what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from toolchain.frontend.context import Staged
from toolchain.frontend.machine import polyfills, searching
from toolchain.frontend.machine.calls import is_interpretable
from toolchain.frontend.machine.frame import PUSH
from toolchain.frontend.staged import Array, HostList

if TYPE_CHECKING:
    from toolchain.frontend.machine.frame import Frame
    from toolchain.frontend.machine.interpreter import Machine

_NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_COMPARISONS = {
    "<": ("__lt__", "__gt__"), "<=": ("__le__", "__ge__"), ">": ("__gt__", "__lt__"), ">=": ("__ge__", "__le__"),
    "==": ("__eq__", "__eq__"), "!=": ("__ne__", "__ne__"),
}  # fmt: skip


class Tested(NamedTuple):
    """On the stack while a conditional jump asks the object on top of it for its truth."""

    owner: Any
    result: Any


def is_user_object(value: Any) -> bool:
    """Whether ``value`` may have special methods that the machine interprets."""
    kind = type(value)
    return kind.__module__ not in ("builtins", "torch") and not issubclass(kind, (Staged, HostList, Array))


def call_operator(m: Machine, symbol: str, left: Any, right: Any) -> bool:
    """Pushes a call of the special methods behind ``left symbol right``, if the user wrote one of them."""
    names = _operator_names(symbol)
    attempts = _attempts(m, names, left, right)
    if not attempts:
        return False
    m.call(polyfills.operator_, (tuple(attempts), left, right, symbol), {})
    return True


def _operator_names(symbol: str) -> tuple[tuple[str, ...], str]:
    """The methods of the left operand, in order, and the one of the right operand."""
    if symbol in _COMPARISONS:
        forward, reflected = _COMPARISONS[symbol]
        return (forward,), reflected
    name = _NAMES[symbol.removesuffix("=")]
    in_place = (f"__i{name}__",) if symbol.endswith("=") else ()
    return (*in_place, f"__{name}__"), f"__r{name}__"


def _attempts(m: Machine, names: tuple[tuple[str, ...], str], left: Any, right: Any) -> list[tuple[Any, Any, Any]]:
    forward = [(f, left, right) for name in names[0] for f in (m.calls.special_method(left, name),) if f is not None]
    method = m.calls.special_method(right, names[1])
    reflected = [] if method is None or type(left) is type(right) else [(method, right, left)]
    overrides = type(right) is not type(left) and isinstance(right, type(left))
    return [*reflected, *forward] if overrides else [*forward, *reflected]


def truth_method(m: Machine, value: Any) -> Any:
    """The method of a user's class that decides about its truth, or None."""
    if isinstance(value, type):
        return None
    if hasattr(type(value), "__bool__"):
        return m.calls.special_method(value, "__bool__")
    return m.calls.special_method(value, "__len__")


def call_contains(m: Machine, container: Any, item: Any, inverted: bool) -> bool:
    """Pushes the membership test of a user's class, of a list of unknown length, or one that compares tensors."""
    if isinstance(container, HostList) or (
        isinstance(container, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in (item, *container))
    ):
        searching.search(m, "contains", container, (item, inverted), PUSH)
        return True
    method = m.calls.special_method(container, "__contains__")
    if method is not None:
        m.call(polyfills.contains_, (method, container, item, inverted), {})
        return True
    if hasattr(type(container), "__contains__") or m.calls.special_method(container, "__iter__") is None:
        return False
    m.call(polyfills.contains_by_iteration_, (container, item, inverted), {})
    return True


def setter(m: Machine, owner: Any, name: str, value: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """The interpretable function that ``owner.name = value`` calls, and its arguments; None if there is none."""
    override = m.calls.special_method(owner, "__setattr__")
    if override is not None:
        return override, (owner, name, value)
    attribute = getattr(type(owner), name, None)
    if isinstance(attribute, property) and attribute.fset is not None and is_interpretable(attribute.fset):
        return attribute.fset, (owner, value)
    return None


WAITS = object()


def tested(m: Machine, f: Frame) -> Any:
    """The truth of the top of the stack; WAITS after pushing the call of the user's method that decides about it (the
    instruction is executed again when that returns)."""
    top = f.stack[-1]
    if type(top) is Tested:
        return m.truth(top.result)
    method = truth_method(m, top)
    if method is None:
        return m.truth(top)
    f.pc = f.current
    m.call(method, (top,), {}, ("truth",))
    return WAITS
