"""Host operations on lists. All are functional: a list is never changed.

A list is a Python list whose elements are tensors (buffer views), scalars, lists, or tuples of these; functions that
take an element take the items of a tuple one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime_py.device import current_device, dtype_of, new_view
from runtime_py.dtypes import to_bits, to_scalars


def _element(items: tuple[Any, ...]) -> Any:
    return items[0] if len(items) == 1 else items


def list_(*elements: Any, arity: int = 0) -> list[Any]:
    """A list of ``elements``; with an arity, of tuples of that many consecutive operands."""
    if not arity:
        return list(elements)
    return [tuple(elements[i : i + arity]) for i in range(0, len(elements), arity)]


def list_len(values: list[Any]) -> int:
    return len(values)


def list_get(values: list[Any], index: int) -> Any:
    """One element. Raises ``IndexError`` outside."""
    return values[index]


def list_set(values: list[Any], index: int, *element: Any) -> list[Any]:
    """With one element replaced. Raises ``IndexError`` outside."""
    changed = list(values)
    changed[index] = _element(element)
    return changed


def list_append(values: list[Any], *element: Any) -> list[Any]:
    return [*values, _element(element)]


def list_insert(values: list[Any], index: int, *element: Any) -> list[Any]:
    changed = list(values)
    changed.insert(index, _element(element))
    return changed


def list_pop(values: list[Any], index: int) -> list[Any]:
    """Without one element. Raises ``IndexError`` if there is none."""
    changed = list(values)
    changed.pop(index)
    return changed


def list_extend(values: list[Any], more: list[Any]) -> list[Any]:
    return [*values, *more]


def list_slice(values: list[Any], start: int | None, stop: int | None) -> list[Any]:
    return values[start:stop]


def list_reverse(values: list[Any]) -> list[Any]:
    return values[::-1]


def list_stack(tensors: list[Any]) -> Any:
    """A tensor with a new leading dimension. Raises ``RuntimeError`` if the list is empty or shapes differ."""
    _require_some(tensors, "stack")
    for i, tensor in enumerate(tensors):
        if tensor.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {tensors[0].shape} at entry 0 "
                f"and {tensor.shape} at entry {i}"
            )
    device = current_device()
    return new_view(np.stack([device.array(t) for t in tensors]), dtype_of(tensors[0]).name)


def list_cat(tensors: list[Any], dim: int) -> Any:
    """The tensors side by side. Raises ``RuntimeError`` if the list is empty or shapes do not fit."""
    _require_some(tensors, "torch.cat()")
    device = current_device()
    # As in PyTorch, an empty vector fits anything.
    parts = [t for t in tensors if t.shape != [0]] or tensors[:1]
    try:
        joined = np.concatenate([device.array(t) for t in parts], axis=dim)
    except ValueError as error:
        raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. {error}") from None
    return new_view(joined, dtype_of(tensors[0]).name)


def _require_some(tensors: list[Any], what: str) -> None:
    if not tensors:
        raise RuntimeError(f"{what} expects a non-empty list of tensors")


def list_tensor(scalars: list[Any], dtype: str) -> Any:
    """A one-dimensional tensor of the scalars. Raises ``RuntimeError`` if the dtype cannot hold one."""
    try:
        bits = to_bits(scalars, dtype)
    except OverflowError:
        raise RuntimeError(f"value cannot be converted to type {dtype} without overflow") from None
    return new_view(bits, dtype)


def tensor_list(tensor: Any) -> list[Any]:
    """The elements of a tensor as (nested lists of) Python scalars."""
    return to_scalars(current_device().array(tensor), dtype_of(tensor).name)
