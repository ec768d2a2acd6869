"""What single instructions do to values that are tensors, staged scalars or host lists."""

from __future__ import annotations

import builtins
import itertools
import operator
from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend import torch_adapter
from toolchain.frontend.context import Staged, context, scalar_type, union_origins
from toolchain.frontend.machine import formatting, polyfills, searching
from toolchain.frontend.machine.border import box, has_staged, unbox
from toolchain.frontend.machine.frame import IndexIter, StagedRange, VMGenerator
from toolchain.frontend.numbers import (
    StagedBool,
    StagedFloat,
    StagedInt,
    StagedNumber,
    minimum,
    negate,
    symbol,
    to_bool,
)
from toolchain.frontend.signals import KeepIdentity, Unsupported
from toolchain.frontend.staged import Array, HostList, Scalar, StagedObject, StagedStr, context_length, operand_of, wrap
from toolchain.ir import BOOL

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine
    from toolchain.frontend.recorder import Recorder

FAKE_ERRORS = torch_adapter.FAKE_TENSOR_ERRORS


def unsupported_operation(exception: BaseException) -> Unsupported:
    text = str(exception).splitlines()[0] if str(exception) else type(exception).__name__
    return Unsupported(
        "TC136",
        "this operation's result depends on tensor elements in a way that cannot be staged "
        f"({type(exception).__name__}: {text[:120]})",
        "replace it by operations with a shape that is known, or by nonzero() and indexing",
    )


def needs_machine(iterable: Any) -> bool:
    """Whether iterating runs interpreted code or decisions."""
    if isinstance(iterable, IndexIter):
        return not isinstance(iterable.length(), int)
    return isinstance(iterable, (VMGenerator, StagedRange)) or (
        isinstance(iterable, torch.Tensor) and iterable.dim() > 0 and not isinstance(iterable.shape[0], int)
    )


def decide(m: Machine, condition: Any) -> bool:
    """Decides inside an instruction that is not a jump (found again by running the block again)."""
    frame = m.frames[-1]
    if isinstance(condition, StagedBool) and m.recorder.peek(condition) is None:
        frame.open |= {frame.current + 1}
    return bool(condition)


# ---- truth, comparison, identity


def truth(recorder: Recorder, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return recorder.truth(value)
    if isinstance(value, Array):
        if value.tensor.numel() != 1:
            text = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            raise ValueError(text)
        return recorder.truth(value.tensor)
    if isinstance(value, StagedNumber):
        return to_bool(value)
    if isinstance(value, HostList):
        return context_length(value) > 0
    if isinstance(value, StagedObject):
        return wrap(context().host("python_call", (value.operand,), BOOL, (("builtins:bool",),)), BOOL, True)
    if isinstance(value, StagedRange):
        return to_bool(value.length)
    return bool(value)


def not_(value: Any) -> Any:
    return negate(value) if isinstance(value, StagedBool) else not value


def binary(m: Machine, function: Any, left: Any, right: Any) -> Any:
    if isinstance(left, Array) or isinstance(right, Array):
        return m.calls.arrays.operator(function, left, right)
    if isinstance(left, StagedObject) or isinstance(right, StagedObject):
        return m.calls.objects.operator(function, left, right)
    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
        return box(m.recorder, function(as_tensor_operand(m, left), as_tensor_operand(m, right)))
    if isinstance(left, HostList) or isinstance(right, HostList):
        return m.calls.lists.binary(function, left, right)
    if isinstance(left, str) and function.__name__ == "mod" and has_staged(right):
        return formatting.percent_format(m, left, right)
    return function(left, right)


def unary(m: Machine, function: Any, operand: Any) -> Any:
    if isinstance(operand, Array):
        return m.calls.arrays.operator(function, operand)
    return m.calls.objects.operator(function, operand) if isinstance(operand, StagedObject) else function(operand)


def as_tensor_operand(m: Machine, value: Any) -> Any:
    """An operand of an operator whose other operand is a tensor."""
    if isinstance(value, (StagedFloat, StagedBool)) and m.recorder.is_symbolic:
        return m.calls.tensors.from_scalar(value)
    return unbox(value)


def is_(m: Machine, left: Any, right: Any) -> Any:
    if isinstance(left, StagedObject) or isinstance(right, StagedObject):
        return m.calls.objects.is_(left, right)
    for a, b in ((left, right), (right, left)):
        if isinstance(a, StagedStr) and isinstance(b, (str, StagedStr)):
            return a.constant("the identity") is b
        if isinstance(a, StagedBool) and isinstance(b, bool):
            return a if b else negate(a)
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor) and left is not right:
        for tensor in (left, right):
            conflict = m.recorder.state.conflicts.get(m.recorder.view_of(tensor).storage)
            if conflict:
                raise KeepIdentity(conflict)
    if left is right and isinstance(left, torch.Tensor) and left.__dict__.get("_toolchain_several"):
        raise Unsupported("TC120", "the identity of tensors that are one on some paths and several on others")
    if isinstance(left, StagedNumber) and isinstance(right, (int, float, StagedNumber)):
        raise Unsupported(
            "TC120", "the identity of a number that is only known at run time", "compare with == instead of is"
        )
    return left is right


def contains(m: Machine, container: Any, item: Any) -> Any:
    if isinstance(container, Array) or isinstance(item, Array):
        raise Unsupported("TC161", "'in' with a NumPy array of run time", "use (array == item).any()")
    if isinstance(container, StagedObject):
        return m.calls.objects.call(operator.contains, (container, item), {}, BOOL)
    if isinstance(item, StagedObject):
        raise Unsupported("TC120", "looking for a value of the host in a container cannot be staged")
    if isinstance(container, (tuple, list, set, frozenset)) and (
        isinstance(item, StagedNumber) or has_staged(container, 1)
    ):
        searching.guard_nan(m, container, item)
        found: Any = False
        for element in container:
            found = found | to_bool(element == item)
        return found
    if isinstance(container, (dict, range)) and isinstance(item, StagedNumber):
        if isinstance(container, range):
            inside = (item >= container.start) & (item < container.stop) if container.step == 1 else None
            if inside is None:
                return contains(m, tuple(container), item)
            return inside
        return contains(m, tuple(k for k in container if isinstance(k, (int, float))), item)
    return item in container


# ---- names and attributes


def load_global(function: Any, name: str) -> Any:
    space = function.__globals__
    if name in space:
        return space[name]
    fallback = space.get("__builtins__", builtins)
    fallback = fallback if isinstance(fallback, dict) else vars(fallback)
    if name in fallback:
        return fallback[name]
    raise NameError(f"name '{name}' is not defined")


def property_getter(owner: Any, name: str) -> Any:
    """The interpretable getter of a property of a user's class."""
    from toolchain.frontend.machine.calls import is_interpretable

    attribute = getattr(type(owner), name, None) if not isinstance(owner, (type, torch.Tensor)) else None
    if isinstance(attribute, property) and attribute.fget is not None and is_interpretable(attribute.fget):
        return attribute.fget
    return None


def load_attr(m: Machine, owner: Any, name: str) -> Any:
    if isinstance(owner, (HostList, VMGenerator)):
        return (
            m.calls.lists.method(owner, name) if isinstance(owner, HostList) else m.calls.generator_method(owner, name)
        )
    if isinstance(owner, Array):
        return m.calls.arrays.attribute(owner, name)
    if isinstance(owner, StagedObject):
        return m.calls.objects.call(getattr, (owner, name), {})
    if isinstance(owner, StagedStr):
        owner = owner.constant(f"the attribute {name}")
    if isinstance(owner, StagedNumber) and name in ("real", "imag", "numerator"):
        return owner
    if isinstance(owner, torch.Tensor) and name == "data":
        return owner.detach()
    return box(m.recorder, getattr(owner, name))


def store_attr(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, torch.Tensor) and name in ("data", "grad", "requires_grad"):
        raise Unsupported("TC145", f"assigning to Tensor.{name}", "use copy_() or make a new tensor")
    setattr(owner, name, value)


def context_methods(manager: Any) -> tuple[Any, Any]:
    kind = type(manager)
    if not hasattr(kind, "__enter__") or not hasattr(kind, "__exit__"):
        raise TypeError(f"'{kind.__name__}' object does not support the context manager protocol")
    return kind.__enter__.__get__(manager, kind), kind.__exit__.__get__(manager, kind)


# ---- items


def get_item(m: Machine, container: Any, key: Any) -> Any:
    if isinstance(container, Array):
        return m.calls.arrays.get(container, key)
    if isinstance(container, StagedObject):
        return m.calls.objects.call(operator.getitem, (container, key), {})
    if isinstance(key, Scalar):
        key = m.recorder.read(key.tensor)
    if isinstance(container, HostList):
        return m.calls.lists.get(container, key)
    if isinstance(container, torch.Tensor):
        return tensor_item(m, container, key)
    if isinstance(container, torch.nn.Module) and isinstance(key, StagedInt):
        return container[constant_index(m, key, len(container))]  # type: ignore[index,arg-type]
    if isinstance(container, (tuple, list, str, range, bytes)):
        return container[sequence_key(m, key, len(container))]
    if isinstance(container, dict) and isinstance(key, StagedNumber):
        return container[choose(m, key, [k for k in container if isinstance(k, int)], KeyError)]
    if isinstance(container, torch.nn.Module) and isinstance(key, slice):
        return container[sequence_key(m, key, len(container))]  # type: ignore[index,arg-type]
    return box(m.recorder, container[key])


def set_item(m: Machine, container: Any, key: Any, value: Any) -> None:
    if isinstance(key, Scalar):
        key = m.recorder.read(key.tensor)
    if isinstance(container, Array):
        m.calls.arrays.set(container, key, value)
    elif isinstance(container, HostList):
        m.calls.lists.set(container, key, value)
    elif isinstance(container, torch.Tensor):
        content = (
            m.calls.tensors.from_scalar(value, container.dtype) if isinstance(value, StagedNumber) else unbox(value)
        )
        set_tensor_item(m, container, key, content)
    elif isinstance(container, list):
        container[sequence_key(m, key, len(container))] = value
    else:
        container[key] = value


def sequence_key(m: Machine, key: Any, length: int) -> Any:
    if isinstance(key, StagedNumber):
        return constant_index(m, key, length)
    if isinstance(key, slice) and has_staged(key):
        parts = [
            p if not isinstance(p, StagedInt) else bound_constant(m, p, length) for p in (key.start, key.stop, key.step)
        ]
        return slice(*parts)
    if isinstance(key, torch.Tensor):
        return constant_index(m, m.recorder.read(key), length)
    return key


def constant_index(m: Machine, key: Any, length: int) -> int:
    """A constant for an index into a Python sequence: one path for each element."""
    if isinstance(key, int):
        return key
    return choose(m, key, [*range(length), *range(-1, -length - 1, -1)], IndexError)


def bound_constant(m: Machine, key: StagedInt, length: int) -> int:
    """A constant for a slice bound."""
    if key.origins and not key.is_data:
        m.recorder.need_constant(key.origins, "a slice bound of a Python sequence")
    for candidate in range(length):
        if decide(m, key == candidate):
            return candidate
    if decide(m, key >= length):
        return length
    for candidate in range(-1, -length, -1):
        if decide(m, key == candidate):
            return candidate
    return -length


def choose(m: Machine, key: Any, candidates: list[int], missing: type[Exception]) -> int:
    known = m.recorder.known_int(key) if isinstance(key, StagedInt) else None
    if known is not None:
        return known
    if key.origins and not key.is_data:
        m.recorder.need_constant(key.origins, "an index of a Python sequence")
    if len(candidates) > 512:
        raise Unsupported(
            "TC122", f"a run-time index into a Python sequence of {len(candidates)} elements", "stack it into a tensor"
        )
    for candidate in candidates:
        if decide(m, key == candidate):
            return candidate
    raise missing("list index out of range" if missing is IndexError else "key")


def tensor_item(m: Machine, tensor: torch.Tensor, key: Any) -> Any:
    """``tensor[key]``; staged integers become selections, with the checks that eager makes."""
    key = _read_scalar_indices(m, key)
    if not has_staged(key):
        return tensor[key]
    base, rest = _split_key(m, tensor, key)
    return base[rest] if rest else base


def set_tensor_item(m: Machine, tensor: torch.Tensor, key: Any, value: Any) -> None:
    key = _read_scalar_indices(m, key)
    if not has_staged(key):
        tensor[key] = value
        return
    base, rest = _split_key(m, tensor, key)
    base[rest or ...] = value


def _read_scalar_indices(m: Machine, key: Any) -> Any:
    """Integer tensors of no dimension index like numbers: they give views."""

    def read(part: Any) -> Any:
        part = part.tensor if isinstance(part, Array) else part
        scalar = isinstance(part, torch.Tensor) and part.dim() == 0 and part.dtype not in (torch.bool, torch.uint8)
        return m.recorder.read(part) if scalar and not part.is_floating_point() else part

    return tuple(read(k) for k in key) if isinstance(key, tuple) else read(key)


def _split_key(m: Machine, tensor: torch.Tensor, key: Any) -> tuple[torch.Tensor, tuple[Any, ...]]:
    """The tensor with the staged integers of ``key`` selected, and the rest of the key."""
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = [m.calls.tensors.from_list(k) if isinstance(k, HostList) else k for k in keys]
    advanced = any(isinstance(k, (torch.Tensor, list)) for k in keys)
    sources = _source_dims(keys, tensor.dim())
    rest: list[Any] = []
    selected: list[tuple[int, Any]] = []
    for part, dim in zip(keys, sources, strict=True):
        if isinstance(part, StagedInt):
            index = checked_index(m, part, box(m.recorder, tensor.shape[dim]))
            if advanced:
                rest.append(m.calls.tensors.from_scalar(index) if isinstance(index, StagedInt) else index)
            else:
                selected.append((dim, index))
        elif isinstance(part, slice) and has_staged(part):
            rest.append(checked_slice(m, part, box(m.recorder, tensor.shape[dim])))
        elif isinstance(part, (list, tuple)) and has_staged(part):
            rest.append(m.calls.tensors.from_nested(part, None))
        else:
            rest.append(unbox(part))
    for dim, index in sorted(selected, key=lambda s: -s[0]):
        tensor = tensor.select(dim, symbol(index))
    return tensor, tuple(rest)


def _source_dims(keys: list[Any], rank: int) -> list[int]:
    """The dimension of the tensor that each part of a key consumes (for None and Ellipsis: the next one)."""

    def width(part: Any) -> int:
        if part is None or part is Ellipsis:
            return 0
        return part.dim() if isinstance(part, torch.Tensor) and part.dtype == torch.bool else 1

    total = sum(width(k) for k in keys)
    if total > rank:
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    dims, dim = [], 0
    for part in keys:
        dims.append(dim)
        dim += rank - total if part is Ellipsis else width(part)
    return dims


def checked_index(m: Machine, index: StagedInt, extent: Any) -> Any:
    """A staged index counted from the front, after the check that it is inside."""
    m.recorder.require_staged_value(
        (index >= -extent) & (index < extent), IndexError, "index out of bounds for dimension"
    )
    below = index < 0
    known = m.recorder.peek(below) if isinstance(below, StagedBool) else below
    if known is None:
        return select(below, index + extent, index)
    return index + extent if known else index


def checked_slice(m: Machine, part: slice, extent: Any) -> slice:
    """A slice with staged bounds, clamped to the extent as Python does."""
    start = None if part.start is None else clamp_bound(m, part.start, extent)
    stop = None if part.stop is None else clamp_bound(m, part.stop, extent)
    if start is not None and stop is not None:
        ordered = start <= stop
        if not (ordered if isinstance(ordered, bool) else m.recorder.peek(ordered)):
            stop = minimum("max", stop, start)
    return slice(unbox(start), unbox(stop), unbox(part.step))


def clamp_bound(m: Machine, bound: Any, extent: Any) -> Any:
    """A slice bound counted from the front and clamped to the extent, as Python does."""
    if not isinstance(bound, StagedInt) and not isinstance(extent, StagedInt):
        return min(max(bound + extent if bound < 0 else bound, 0), extent)
    negative = bound < 0
    known = m.recorder.peek(negative) if isinstance(negative, StagedBool) else negative
    if known is None:
        bound = select(negative, bound + extent, bound)
    elif known:
        bound = bound + extent
    fits = bound <= extent
    if not (fits if isinstance(fits, bool) else m.recorder.peek(fits)):
        bound = minimum("min", bound, extent)
    positive = bound >= 0
    if not (positive if isinstance(positive, bool) else m.recorder.peek(positive)):
        bound = minimum("max", bound, 0)
    return bound


def select(condition: StagedBool, yes: Any, no: Any) -> Any:
    kind = scalar_type(yes)
    operand = context().host("select", (condition.operand, operand_of(yes), operand_of(no)), kind)
    staged = [v for v in (condition, yes, no) if isinstance(v, Staged)]
    return wrap(operand, kind, any(v.is_data for v in staged), union_origins(*staged))


# ---- iteration


def get_iter(m: Machine, iterable: Any) -> Any:
    if isinstance(iterable, (VMGenerator, IndexIter)):
        return iterable
    if isinstance(iterable, (tuple, list, range, str, bytes, StagedRange, HostList)):
        return IndexIter(iterable)
    if isinstance(iterable, torch.Tensor):
        if iterable.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        return IndexIter(iterable.unbind(0) if isinstance(iterable.shape[0], int) else iterable)
    if isinstance(iterable, Array):
        return IndexIter(tuple(m.calls.arrays.elements(iterable)))
    if isinstance(iterable, (Staged,)):
        raise TypeError(f"'{type(iterable).type}' object is not iterable")
    iterator = iter(iterable)
    items = tuple(itertools.islice(iterator, 100_001))
    if len(items) > 100_000:
        raise Unsupported("TC153", "an iterator of native code that does not end after 100,000 elements")
    return IndexIter(items)


def iteration_of(m: Machine, value: Any) -> Any:
    """The generator function that iterates over an object of a user's class without ``__iter__``, or None."""
    if isinstance(value, (VMGenerator, IndexIter)):
        return None
    if m.calls.special_method(value, "__next__") is not None:
        return polyfills.iterate_next
    if m.calls.special_method(value, "__getitem__") is not None and not hasattr(type(value), "__iter__"):
        return polyfills.iterate_items
    return None


def has_next(iterator: IndexIter) -> Any:
    return iterator.index < iterator.length()


def take_next(m: Machine, iterator: IndexIter) -> Any:
    source, index = iterator.source, iterator.index
    if isinstance(source, StagedRange):
        value = source.start + index * source.step
    elif isinstance(source, range):
        value = source.start + index * source.step if isinstance(index, StagedInt) else source[index]
    elif isinstance(source, torch.Tensor):
        value = source.select(0, symbol(index))
    elif isinstance(source, HostList):
        value = m.calls.lists.get(source, index)
    else:
        value = source[sequence_key(m, index, len(source))]
    iterator.index = index + 1
    return value


def iterate_static(m: Machine, items: Any) -> Any:
    """The elements of something that is iterable without decisions."""
    if isinstance(items, HostList):
        return [m.calls.lists.get(items, i) for i in range(len(items))]
    if isinstance(items, IndexIter):
        out = []
        while has_next(items):
            out.append(take_next(m, items))
        return out
    if isinstance(items, torch.Tensor):
        return items.unbind(0)
    return m.calls.arrays.elements(items) if isinstance(items, Array) else list(items)


def unpack(m: Machine, items: Any, count: int) -> list[Any]:
    if isinstance(items, HostList):
        length = context_length(items)
        if not decide(m, length == count):
            raise ValueError(f"not enough values to unpack (expected {count})")
        return [m.calls.lists.get(items, i) for i in range(count)]
    values = list(iterate_static(m, items))
    if len(values) > count:
        raise ValueError(f"too many values to unpack (expected {count})")
    if len(values) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(values)})")
    return values


def list_append(m: Machine, items: Any, value: Any) -> None:
    if isinstance(items, HostList):
        m.calls.lists.append(items, value)
    else:
        items.append(value)


def list_extend(m: Machine, items: Any, more: Any) -> None:
    if isinstance(items, HostList) or isinstance(more, HostList):
        m.calls.lists.extend(items, more)
    else:
        items.extend(iterate_static(m, more))


def pop_many(stack: list[Any], count: int) -> list[Any]:
    if not count:
        return []
    values = stack[-count:]
    del stack[-count:]
    return values
