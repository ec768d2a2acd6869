"""The meaning of every operation, executable: PyTorch tensors, Python scalars and Python lists.

Host operations raise what Python raises. An element of a list of tuples is a Python tuple.
"""

from __future__ import annotations

import builtins
import importlib
import math
import operator
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import torch

from toolchain.host_calls import HostCall, as_tensor
from toolchain.ir.effects import overload
from toolchain.ir.host_calls import Form
from toolchain.ir.hostops import BITWISE, MATH, OPCODES
from toolchain.ir.ops import HostOp
from toolchain.ir.types import INT, TensorType

# What a value is at run time: a tensor, an int, float, bool or str, or a list of these or of tuples of these.
Datum: TypeAlias = Any


def run_tensor_op(target: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Datum, ...]:
    """The results of one ATen operation on concrete arguments. Values have no strides, so they are contiguous."""
    results = overload(target)(*args, **kwargs)
    every = results if isinstance(results, (tuple, list)) else (results,)
    return tuple(r.contiguous() if isinstance(r, torch.Tensor) else r for r in every)


def run_host_op(op: HostOp, operands: Sequence[Datum]) -> tuple[Datum, ...]:
    """The results of one host operation; raises what Python would, OverflowError for ints beyond 64 bits."""
    result = TABLE[op.opcode](*operands, *op.attributes)
    if not op.results:
        return ()
    if len(op.results) > 1:
        return tuple(result)
    if op.results[0].type == INT and not -(2**63) <= result < 2**63:
        raise OverflowError("the result of an integer operation does not fit in 64 bits")
    return (result,)


def run_host_call(
    op: HostOp, operands: Sequence[Datum], functions: Mapping[str, Callable[..., Any]]
) -> tuple[Datum, ...]:
    """The results of one call of a user's function: one of ``functions``, or what can be imported by its name.

    Raises what the function raises, and ``runtime_py.DeviceError`` RT309 if it gives other types than ``op.results``.
    """
    from runtime_py.host_calls import Kind, Results, by_keyword, find

    name, keywords, form = cast(tuple[str, tuple[str, ...], Form], op.attributes)
    types = (r.type for r in op.results)
    kinds = (Kind(t.dtype, t.dims) if isinstance(t, TensorType) else Kind(str(t)) for t in types)
    _, values = HostCall(find(name, functions), name).call(*by_keyword(operands, keywords), Results(form, tuple(kinds)))
    return tuple(map(as_tensor, values))


def exception_of(name: str, arguments: Sequence[Datum]) -> BaseException:
    """An instance of the built-in exception ``name``."""
    kind: type[BaseException] = getattr(builtins, name)
    return kind(*arguments)


def _check(condition: bool, exception: str, text: str) -> None:
    if not condition:
        raise exception_of(exception, (text,) if text else ())


def _full(value: Datum, dtype: str, *dims: int) -> torch.Tensor:
    return torch.full(dims, value, dtype=getattr(torch, dtype))


def _format(*operands: Any) -> str:
    *scalars, parts = operands
    return "".join(p if isinstance(p, str) else _formatted(scalars[p[0]], p[1], p[2]) for p in parts)


def _formatted(value: Datum, conversion: str | None, spec: str) -> str:
    conversions: dict[str, Callable[[Datum], str]] = {"s": str, "r": repr, "a": ascii}
    return format(conversions[conversion](value) if conversion else value, spec)


def _warn(text: str, category: str) -> None:
    warnings.warn(text, getattr(builtins, category), stacklevel=2)


def _element(parts: tuple[Datum, ...]) -> Datum:
    return parts[0] if len(parts) == 1 else parts


def _list(*operands: Any) -> list[Datum]:
    *elements, arity = operands
    if arity < 2:
        return elements
    return [tuple(elements[i : i + arity]) for i in range(0, len(elements), arity)]


def _list_set(values: list[Datum], index: int, *parts: Datum) -> list[Datum]:
    changed = list(values)
    changed[index] = _element(parts)
    return changed


def _list_insert(values: list[Datum], index: int, *parts: Datum) -> list[Datum]:
    changed = list(values)
    changed.insert(index, _element(parts))
    return changed


def _list_pop(values: list[Datum], index: int) -> list[Datum]:
    changed = list(values)
    changed.pop(index)
    return changed


def _list_tensor(values: list[Datum], dtype: str) -> torch.Tensor:
    return torch.tensor(values, dtype=getattr(torch, dtype))


def _python_call(*operands: Any) -> Datum:
    *values, (name, *keywords) = operands
    module, _, path = name.partition(":")
    function = operator.attrgetter(path)(importlib.import_module(module))
    positional = len(values) - len(keywords)
    return function(*values[:positional], **dict(zip(keywords, values[positional:], strict=True)))


_OTHER: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": abs,
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "not": operator.not_,
    **{name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    "int": int,
    "float": float,
    "bool": bool,
    "round": round,
    "round_digits": round,
    "str": str,
    "repr": repr,
    "item": lambda tensor: tensor.item(),
    "dim": lambda tensor, index: tensor.shape[index],
    "check": _check,
    "python_call": _python_call,
    "full": _full,
    "format": _format,
    "concat": lambda *texts: "".join(texts),
    "print": lambda text, end: print(text, end=end, file=sys.stdout),
    "warn": _warn,
    "select": lambda condition, a, b: a if condition else b,
    "list": _list,
    "list_len": len,
    "list_get": lambda values, index: values[index],
    "list_set": _list_set,
    "list_append": lambda values, *parts: [*values, _element(parts)],
    "list_insert": _list_insert,
    "list_pop": _list_pop,
    "list_extend": lambda values, more: [*values, *more],
    "list_slice": lambda values, start, stop: values[start:stop],
    "list_reverse": lambda values: values[::-1],
    "list_stack": torch.stack,
    "list_cat": torch.cat,
    "list_tensor": _list_tensor,
    "tensor_list": lambda tensor: tensor.tolist(),
}

TABLE: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in MATH},
    **{name: getattr(operator, name + "_" if name in ("and", "or") else name) for name in BITWISE},
    **_OTHER,
}
assert frozenset(TABLE) == OPCODES
