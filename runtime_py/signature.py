"""Which entry a call is meant for, and its leaves: everything is checked before anything runs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from runtime_py.arrays import dtype_name, framework_of, torch_module
from runtime_py.constants import from_constant, same_constant
from runtime_py.errors import BundleError, InputError
from runtime_py.format import Dim, Entry, Input, Tree

_SCALARS = {"int": int, "float": float, "bool": bool, "str": str}


@dataclass(frozen=True, slots=True)
class Match:
    """A call that fits.

    entry:  index of the entry.
    leaves: tensors and scalars of the caller, in the order of the entry's inputs.
    """

    entry: int
    leaves: list[Any]


class _Mismatch(Exception):
    """Why a value does not fit, and the way to it from the arguments, innermost step first."""

    def __init__(self, code: str, problem: str, name: str = "") -> None:
        super().__init__(problem)
        self.code = code
        self.problem = problem
        self.name = name
        self.steps: list[str] = []


def select_entry(entries: tuple[Entry, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Match:
    """The first entry that the call fits. Raises ``InputError`` RT201 to RT204 naming the argument otherwise."""
    mismatches: list[tuple[int, _Mismatch]] = []
    for i, entry in enumerate(entries):
        leaves: list[Any] = []
        matcher = _Matcher(entry.inputs, leaves)
        try:
            matcher.match_call(entry.signature, args, kwargs)
        except _Mismatch as mismatch:
            mismatches.append((matcher.progress, mismatch))
        else:
            return Match(i, leaves)
    raise _error(mismatches)


def _error(mismatches: list[tuple[int, _Mismatch]]) -> InputError:
    if not mismatches:
        return InputError("RT201", "the program has no entries")
    # The entry of which most fits is the likeliest to be meant; a wrong value says more than a wrong structure.
    _, nearest = max(mismatches, key=lambda m: (m[0], m[1].code != "RT201"))
    others = f" (nor do {len(mismatches) - 1} other entries fit)" if len(mismatches) > 1 else ""
    hint = "build with an example of this kind, or convert the argument"
    return InputError(nearest.code, f"{_where(nearest)}: {nearest.problem}{others}", hint)


def _where(mismatch: _Mismatch) -> str:
    path = "".join(reversed(mismatch.steps)) or "arguments"
    return f"{path} '{mismatch.name}'" if mismatch.name else path


class _Matcher:
    """Walks a signature and the arguments side by side, and collects the leaves.

    progress: how many nodes have fitted so far.
    """

    def __init__(self, inputs: tuple[Input, ...], leaves: list[Any]) -> None:
        self._inputs = inputs
        self._leaves = leaves
        self.progress = 0

    def match_call(self, signature: Tree, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        positional, keywords = signature.items
        if len(args) != len(positional.items):
            raise _Mismatch("RT201", f"expected {len(positional.items)} positional, found {len(args)}")
        self._children(positional, args, [f"argument {i}" for i in range(len(args))] if args else [])
        self._keyed(keywords, kwargs, "keyword {}", "keywords")

    def _children(self, tree: Tree, values: Any, steps: list[str]) -> None:
        self.progress += 1
        for child, value, step in zip(tree.items, values, steps, strict=True):
            self._child(child, value, step)

    def _child(self, tree: Tree, value: Any, step: str) -> None:
        try:
            self._match(tree, value)
        except _Mismatch as mismatch:
            mismatch.steps.append(step)
            raise

    def _match(self, tree: Tree, value: Any) -> None:
        match tree.kind:
            case "leaf":
                self._leaf(value)
            case "literal":
                self._literal(tree, value)
            case "dict":
                if not isinstance(value, dict):
                    raise _Mismatch("RT201", f"expected a dict, found {_shown(value)}")
                self._keyed(tree, value, "[{}]", "keys")
            case "tuple" | "list" | "size":
                self._sequence(tree, value)
            case "set":
                self._set(tree, value)
            case _:
                self._object(tree, value)

    def _sequence(self, tree: Tree, value: Any) -> None:
        if not _is_sequence(tree.kind, value):
            raise _Mismatch("RT201", f"expected a {tree.kind}, found {_shown(value)}")
        self.progress += 1
        if len(value) != len(tree.items):
            raise _Mismatch("RT201", f"expected {len(tree.items)} elements, found {len(value)}")
        self._children(tree, value, [f"[{i}]" for i in range(len(value))])

    def _keyed(self, tree: Tree, value: dict[Any, Any], step: str, what: str) -> None:
        if not tree.keys and not value:
            return
        keys = [from_constant(k) for k in tree.keys]
        if len(keys) != len(value) or any(k not in value for k in keys):
            raise _Mismatch("RT201", f"expected the {what} {_listed(keys)}, found {_listed(value)}")
        self.progress += 1
        for key, child in zip(keys, tree.items, strict=True):
            self._child(child, value[key], step.format(repr(key)))

    def _set(self, tree: Tree, value: Any) -> None:
        expected = {from_constant(_constant(item)) for item in tree.items}
        if not isinstance(value, (set, frozenset)) or value != expected:
            raise _Mismatch("RT204", f"expected the constant {expected!r}, found {_shown(value)}")

    def _literal(self, tree: Tree, value: Any) -> None:
        expected = from_constant(_constant(tree))
        if not same_constant(value, expected):
            code = "RT201" if expected is None or framework_of(value) else "RT204"
            raise _Mismatch(code, f"expected the constant {expected!r}, found {_shown(value)}")

    def _object(self, tree: Tree, value: Any) -> None:
        cls = type(value)
        if f"{cls.__module__}:{cls.__qualname__}" != tree.cls:
            raise _Mismatch("RT201", f"expected an object of {tree.cls}, found {_shown(value)}")
        present = _field_names(value, tree.kind)
        if set(present) != set(tree.fields):
            raise _Mismatch("RT201", f"expected the fields {_listed(tree.fields)}, found {_listed(present)}")
        self._children(tree, [getattr(value, f) for f in tree.fields], [f".{f}" for f in tree.fields])

    def _leaf(self, value: Any) -> None:
        expected = self._inputs[len(self._leaves)]
        if expected.kind == "tensor":
            _check_tensor(expected, value)
        elif type(value) is not _SCALARS[expected.kind]:
            raise _Mismatch("RT202", f"expected a Python {expected.kind}, found {_shown(value)}", expected.name)
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise _Mismatch("RT202", "the int does not fit 64 bits", expected.name)
        self.progress += 1
        self._leaves.append(value)


def _check_tensor(expected: Input, value: Any) -> None:
    framework = framework_of(value)
    if framework is None:
        raise _Mismatch("RT201", f"expected a tensor, found {_shown(value)}", expected.name)
    if framework == "torch" and (value.device.type != "cpu" or value.layout is not torch_module().strided):
        text = f"expected a dense tensor in host memory, found {value.layout} on {value.device}"
        raise _Mismatch("RT202", text, expected.name)
    found = dtype_name(value)
    if found != expected.dtype:
        raise _Mismatch("RT202", f"expected {expected.dtype}, found {found}", expected.name)
    shape = value.shape
    if len(shape) != len(expected.dims):
        raise _Mismatch("RT203", f"expected {len(expected.dims)} dimensions, found {len(shape)}", expected.name)
    for i, (extent, dim) in enumerate(zip(shape, expected.dims, strict=True)):
        if not _fits(extent, dim):
            raise _Mismatch("RT203", f"expected extent {_extents(dim)} in dimension {i}, found {extent}", expected.name)


def _fits(extent: int, dim: Dim) -> bool:
    if dim.size is not None:
        return extent == dim.size
    return dim.minimum <= extent and (dim.maximum is None or extent <= dim.maximum)


def _extents(dim: Dim) -> str:
    if dim.size is not None:
        return str(dim.size)
    return f"at least {dim.minimum}" if dim.maximum is None else f"{dim.minimum} to {dim.maximum}"


def _is_sequence(kind: str, value: Any) -> bool:
    if kind == "list":
        return type(value) is list
    # torch.Size is a tuple subclass; named tuples are objects.
    return isinstance(value, tuple) and not hasattr(value, "_fields")


def _field_names(value: Any, kind: str) -> tuple[str, ...]:
    if kind == "namedtuple":
        return tuple(getattr(value, "_fields", ()))
    if dataclasses.is_dataclass(value):
        return tuple(f.name for f in dataclasses.fields(value))
    return tuple(getattr(value, "__dict__", ()))


def _constant(tree: Tree) -> Any:
    if tree.literal is None:
        raise BundleError("RT102", "a literal of a signature has no value")
    return tree.literal


def _listed(names: Any) -> str:
    return ", ".join(repr(n) for n in names) or "none"


def _shown(value: Any) -> str:
    if framework_of(value):
        return f"a tensor {dtype_name(value)}{list(value.shape)}"
    text = repr(value)
    return f"{type(value).__name__} {text}" if len(text) <= 40 else f"a {type(value).__name__}"
