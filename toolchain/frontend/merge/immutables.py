"""Immutable objects by the references in them."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from toolchain.frontend.heap import is_bound
from toolchain.frontend.machine.calls import GeneratorMethod
from toolchain.frontend.machine.frame import StagedRange
from toolchain.frontend.machine.lists import ListMethod
from toolchain.frontend.staged import Array, HostList


def parts_of(value: Any) -> tuple[tuple[Any, ...], Callable[[list[Any]], Any]] | None:
    """The references in an immutable object, and how to make one like it from others."""
    if isinstance(value, slice):
        return (value.start, value.stop, value.step), lambda p: slice(*p)
    if isinstance(value, types.MethodType):
        return (value.__self__, value.__func__), lambda p: types.MethodType(p[1], p[0])
    if is_bound(value):
        return (value.__self__,), lambda p: _method_of(p[0], value.__name__)
    if isinstance(value, functools.partial):
        return (value.func, value.args, value.keywords), lambda p: functools.partial(p[0], *p[1], **p[2])
    if isinstance(value, types.FunctionType):
        return (value.__closure__, value.__defaults__, value.__kwdefaults__), lambda p: _function_like(value, *p)
    if isinstance(value, StagedRange):
        return (value.start, value.length, value.step), lambda p: _range_like(*p)
    if isinstance(value, GeneratorMethod):
        return (value.generator,), lambda p: GeneratorMethod(p[0], value.name)
    if isinstance(value, ListMethod):
        return (value.items,), lambda p: ListMethod(p[0], value.name)
    if isinstance(value, Array):
        return (value.tensor,), lambda p: type(value)(p[0])
    return None


def _method_of(owner: Any, name: str) -> Any:
    return ListMethod(owner, name) if isinstance(owner, HostList) else getattr(owner, name)


def _function_like(function: types.FunctionType, closure: Any, defaults: Any, kwdefaults: Any) -> types.FunctionType:
    made = types.FunctionType(function.__code__, function.__globals__, function.__name__, defaults, closure)
    made.__kwdefaults__ = kwdefaults
    made.__qualname__ = function.__qualname__
    return made


def _range_like(start: Any, length: Any, step: Any) -> StagedRange:
    made = StagedRange.__new__(StagedRange)
    made.start, made.length, made.step = start, length, step
    return made


def is_equal(a: Any, b: Any) -> bool:
    """Whether two atomic objects are interchangeable."""
    if a is b:
        return True
    if isinstance(a, (types.ModuleType, types.CodeType, types.BuiltinFunctionType, type)):
        return False
    return bool(type(a) is type(b) and a == b)
