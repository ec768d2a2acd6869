"""The Python heap of a run: what is reachable, how it is captured, and how it is put back.

A capture holds the contents of every mutable object that is reachable from the frames, and of every object that existed
before the run and has changed since. Identities stay: restoring writes contents back into the same objects.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import torch

from toolchain.frontend.context import Staged
from toolchain.frontend.machine.calls import GeneratorMethod, is_interpretable
from toolchain.frontend.machine.frame import NULL, Frame, IndexIter, StagedRange, VMGenerator
from toolchain.frontend.machine.lists import ListMethod
from toolchain.frontend.staged import Array, HostList
from toolchain.frontend.storages import PathState

EMPTY_CELL = object()
Image = tuple[tuple[Any, ...], tuple[Any, ...]]
"""The contents of a mutable object: labels (keys, attribute names, positions) and the references under them."""

_ATOMIC = (
    int, float, complex, str, bytes, bool, type(None), type(Ellipsis), torch.dtype, torch.device, torch.layout,
    torch.memory_format, types.ModuleType, types.BuiltinFunctionType, types.CodeType, range, frozenset,
    type(NotImplemented), Staged, torch.Size, type(NULL), property, staticmethod, classmethod,
)  # fmt: skip


class Globals:
    """The global variables of one module that the program assigns."""

    __slots__ = ("names", "space")

    def __init__(self, space: dict[str, Any]) -> None:
        self.space = space
        self.names: set[str] = set()


def is_atomic(value: Any) -> bool:
    return isinstance(value, _ATOMIC) and not is_bound(value)


def is_bound(value: Any) -> bool:
    """Whether ``value`` is a native method with its object, such as ``x.add`` or ``items.append``."""
    return isinstance(value, types.BuiltinMethodType) and not isinstance(
        value.__self__, (types.ModuleType, type, type(None))
    )


def is_tracked(value: Any) -> bool:
    """Whether the contents of ``value`` can change and are captured."""
    if isinstance(
        value, (list, dict, set, deque, Globals, types.CellType, Frame, IndexIter, VMGenerator, HostList, BaseException)
    ):
        return True
    if isinstance(
        value, (*_ATOMIC, torch.Tensor, tuple, slice, types.FunctionType, types.MethodType, functools.partial)
    ):
        return False
    if isinstance(value, type):
        return _is_user_type(value)
    if isinstance(value, (StagedRange, GeneratorMethod, ListMethod, super)):
        return False
    return _is_user_object(value)


def _is_user_type(kind: type) -> bool:
    root = kind.__module__.split(".")[0]
    if root == "contextlib":  # interpreted like the user's code
        return True
    return root not in sys.stdlib_module_names and root not in ("torch", "numpy", "toolchain", "builtins")


def _is_user_module(module: types.ModuleType) -> bool:
    root = module.__name__.split(".")[0]
    return root not in sys.stdlib_module_names and root not in ("torch", "numpy", "toolchain", "builtins")


def _is_user_object(value: Any) -> bool:
    kind = type(value)
    if isinstance(value, (torch.nn.Module, types.SimpleNamespace)):
        return True
    return _is_user_type(kind)


def image_of(value: Any) -> Image:
    """The present contents of a tracked object."""
    if isinstance(value, Frame):
        return _frame_image(value)
    if isinstance(value, HostList):
        return _LIST_FIELDS, (value.operand, value.template, value.origins, value.is_part)
    if isinstance(value, IndexIter):
        return ("source", "index"), (value.source, value.index)
    if isinstance(value, VMGenerator):
        return ("frame", "running"), (value.frame, value.running)
    if isinstance(value, types.CellType):
        return ("contents",), (_cell_contents(value),)
    if isinstance(value, Globals):
        names = tuple(n for n in sorted(value.names) if n in value.space)
        return names, tuple(value.space[n] for n in names)
    if isinstance(value, set):
        return ("items",), (frozenset(value),)
    attributes = _attributes(value)
    items: dict[Any, Any] = {}
    if isinstance(value, (list, deque)):
        items = dict(enumerate(value))
    elif isinstance(value, dict):
        items = {("key", k): v for k, v in value.items()}
    elif isinstance(value, BaseException):
        items = {"args": value.args, "cause": value.__cause__, "context": value.__context__}
    labels = (*items, *(("attr", k) for k in attributes))
    return labels, (*items.values(), *attributes.values())


def _attributes(value: Any) -> dict[str, Any]:
    if type(value) in (list, dict, deque, OrderedDict):
        return {}
    if isinstance(value, type):
        plain = (
            types.FunctionType,
            property,
            staticmethod,
            classmethod,
            types.GetSetDescriptorType,
            types.MemberDescriptorType,
        )
        return {k: v for k, v in vars(value).items() if not k.startswith("__") and not isinstance(v, plain)}
    attributes = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        for slot in kind.__dict__.get("__slots__", ()) if isinstance(kind.__dict__.get("__slots__", ()), tuple) else ():
            if hasattr(value, slot):
                attributes[slot] = getattr(value, slot)
    return attributes


_LIST_FIELDS = ("operand", "template", "origins", "is_part")
_FRAME_FIELDS = ("pc", "current", "mode", "heads", "open", "handled", "generator", "kw_names")


def _frame_image(frame: Frame) -> Image:
    fields = tuple(getattr(frame, name) for name in _FRAME_FIELDS)
    return ("fields", "stack", "locals"), (fields, tuple(frame.stack), tuple(frame.locals))


def put_back(value: Any, image: Image) -> None:
    """Makes ``image`` the contents of ``value`` again."""
    labels, refs = image
    if isinstance(value, Frame):
        for name, content in zip(_FRAME_FIELDS, refs[0], strict=True):
            setattr(value, name, content)
        value.heads = dict(value.heads)
        value.stack = list(refs[1])
        value.locals = list(refs[2])
    elif isinstance(value, (HostList, IndexIter, VMGenerator)):
        for name, content in zip(labels, refs, strict=True):
            setattr(value, name, content)
    elif isinstance(value, types.CellType):
        if refs[0] is EMPTY_CELL:
            del value.cell_contents
        else:
            value.cell_contents = refs[0]
    elif isinstance(value, Globals):
        for name in value.names:
            value.space.pop(name, None)
        value.space.update(zip(labels, refs, strict=True))
    elif isinstance(value, set):
        set.clear(value)
        set.update(value, refs[0])
    else:
        _put_back_items(value, labels, refs)


def _put_back_items(value: Any, labels: tuple[Any, ...], refs: tuple[Any, ...]) -> None:
    attributes = {
        label[1]: ref
        for label, ref in zip(labels, refs, strict=True)
        if isinstance(label, tuple) and label[0] == "attr"
    }
    rest = [
        (label, ref)
        for label, ref in zip(labels, refs, strict=True)
        if not (isinstance(label, tuple) and label[0] == "attr")
    ]
    if isinstance(value, list):
        list.__setitem__(value, slice(None), [ref for _, ref in rest])
    elif isinstance(value, deque):
        deque.clear(value)
        deque.extend(value, (ref for _, ref in rest))
    elif isinstance(value, dict):
        _put_back_dict(value, [(label[1], ref) for label, ref in rest])
    elif isinstance(value, BaseException):
        value.args = rest[0][1]
    if isinstance(value, type):
        _put_back_class(value, attributes)
    elif type(value) not in (list, dict, deque, OrderedDict):
        space = getattr(value, "__dict__", None)
        if space is not None:
            names = set(space)
            space.clear()
            space.update({k: v for k, v in attributes.items() if k in names or not _is_slot(value, k)})
        _put_back_slots(value, attributes)


def _put_back_dict(value: dict[Any, Any], items: list[tuple[Any, Any]]) -> None:
    """Not by the methods of a subclass: ``Counter.update`` adds."""
    kind: Any = OrderedDict if isinstance(value, OrderedDict) else dict
    kind.clear(value)
    for key, content in items:
        kind.__setitem__(value, key, content)


def _is_slot(value: Any, name: str) -> bool:
    return isinstance(getattr(type(value), name, None), types.MemberDescriptorType)


def _put_back_slots(value: Any, attributes: dict[str, Any]) -> None:
    for name in _attributes(value).keys() - attributes.keys():
        object.__delattr__(value, name)
    for name, content in attributes.items():
        if _is_slot(value, name):
            object.__setattr__(value, name, content)


def _put_back_class(cls: type, attributes: dict[str, Any]) -> None:
    present = _attributes(cls)
    for name in present.keys() - attributes.keys():
        delattr(cls, name)
    for name, content in attributes.items():
        if present.get(name, EMPTY_CELL) is not content:
            setattr(cls, name, content)


def children(value: Any) -> Iterator[tuple[Any, Any]]:
    """(label, reference) pairs under an object of either kind."""
    if isinstance(value, (tuple,)):
        yield from enumerate(value)
    elif isinstance(value, slice):
        yield from (("start", value.start), ("stop", value.stop), ("step", value.step))
    elif isinstance(value, types.MethodType):
        yield from (("self", value.__self__), ("func", value.__func__))
    elif is_bound(value):
        yield ("self", value.__self__)
    elif isinstance(value, functools.partial):
        yield from (("func", value.func), ("args", value.args), ("keywords", value.keywords))
    elif isinstance(value, types.FunctionType):
        yield from (
            ("closure", value.__closure__ or ()),
            ("defaults", value.__defaults__),
            ("kwdefaults", value.__kwdefaults__),
        )
    elif isinstance(value, StagedRange):
        yield from (("start", value.start), ("length", value.length), ("step", value.step))
    elif isinstance(value, GeneratorMethod):
        yield ("generator", value.generator)
    elif isinstance(value, ListMethod):
        yield ("items", value.items)
    elif isinstance(value, Array):
        yield ("tensor", value.tensor)
    elif isinstance(value, super):
        yield ("self", value.__self__)  # type: ignore[attr-defined]
    elif isinstance(value, property):
        yield ("get", value.fget)
    elif isinstance(value, ContextVar):
        yield ("value", value.get(None))


@dataclass(slots=True)
class Snapshot:
    """A point of a run: the frames, the contents of what is reachable, and what the path knows."""

    frames: tuple[Frame, ...]
    images: dict[int, tuple[Any, Image]]
    path: PathState
    lists: dict[int, Any] = field(default_factory=dict)


class World:
    """Everything mutable that existed before the call, with its contents then."""

    def __init__(self, roots: dict[str, Any]) -> None:
        self._baseline: dict[int, tuple[Any, Image, tuple[int, ...]]] = {}
        self.names: dict[int, str] = {}
        self.tensor_names: dict[int, str] = {}
        self._keep: list[Any] = []
        self._globals: dict[int, Globals] = {}
        self.context_values: dict[ContextVar[Any], Any] = {}
        for name, root in (*roots.items(), ("context variables", self.context_values)):
            self._walk(root, name)
        for assigned in self._globals.values():
            image = image_of(assigned)
            self._baseline[id(assigned)] = (assigned, image, tuple(map(id, image[1])))
            self.names[id(assigned)] = str(assigned.space.get("__name__", "globals"))
        self._empty, self._tables, self._sets, self._cells, self._others = _grouped(self._baseline)
        self._position = {key: n for n, key in enumerate(self._baseline)}

    def __contains__(self, value: Any) -> bool:
        return id(value) in self._baseline

    def baseline(self, value: Any) -> Image:
        return self._baseline[id(value)][1]

    def _walk(self, root: Any, name: str) -> None:
        work = [(root, name)]
        seen: set[int] = set()
        while work:
            value, path = work.pop()
            if is_atomic(value) or id(value) in seen or id(value) in self._baseline:
                continue
            seen.add(id(value))
            self._keep.append(value)
            if isinstance(value, torch.Tensor):
                self.tensor_names[id(value)] = path
                continue
            if is_tracked(value):
                image = image_of(value)
                self._baseline[id(value)] = (value, image, tuple(map(id, image[1])))
                self.names[id(value)] = path
                work.extend(
                    (ref, join_name(path, label, value)) for label, ref in reversed(list(zip(*image, strict=True)))
                )
                if not isinstance(value, type) and type(value).__module__ != "builtins":
                    work.append((type(value), type(value).__qualname__))
            else:
                work.extend((ref, f"{path}.{label}" if path else str(label)) for label, ref in children(value))
                if is_interpretable(value):
                    work.extend(self._globals_of(value))
            if isinstance(value, type) and _is_user_type(value):
                work.extend((f, f"{value.__qualname__}.{n}") for n, f in vars(value).items() if _is_code(f))
                work.extend((base, base.__qualname__) for base in value.__bases__)

    def _globals_of(self, function: types.FunctionType) -> list[tuple[Any, str]]:
        """What ``function`` can reach by name, through modules of the user as well; notes what it assigns."""
        space = function.__globals__
        found: list[tuple[Any, str]] = []
        codes = [function.__code__]
        while codes:
            code = codes.pop()
            codes.extend(c for c in code.co_consts if isinstance(c, types.CodeType))
            here = [(space[n], n) for n in code.co_names if n in space]
            for value, name in here:  # grows: a package leads to its modules
                if isinstance(value, types.ModuleType) and _is_user_module(value):
                    here.extend(
                        (vars(value)[n], f"{name}.{n}")
                        for n in code.co_names
                        if n in vars(value) and vars(value)[n] is not value
                    )
            found.extend(here)
            if not _GLOBAL_CHANGES.isdisjoint(code.co_code[::2]):
                stored = {i.argval for i in dis.get_instructions(code) if i.opcode in _GLOBAL_CHANGES}
                self._globals.setdefault(id(space), Globals(space)).names |= stored
        return found

    def changed(self) -> list[Any]:
        """The objects whose contents differ from then, in a fixed order."""
        suspects = [v for v in self._empty if v]
        suspects += [v for tables in self._tables if not tables.is_as_then() for v in tables.values]
        suspects += [v for v, then in self._sets if v != then]
        suspects += [v for v, then in self._cells if _cell_contents(v) is not then]
        changed = [v for v in (*suspects, *self._others) if self._differs(v)]
        return sorted(changed, key=lambda value: self._position[id(value)])

    def _differs(self, value: Any) -> bool:
        _, image, ids = self._baseline[id(value)]
        labels, refs = image_of(value)
        moved = tuple(map(id, refs)) != ids and not (isinstance(value, set) and refs == image[1])
        return moved or labels != image[0]

    def reset(self, images: dict[int, tuple[Any, Image]], touched: list[Any] | None = None) -> None:
        """Back to then, except for the objects in ``images``. touched: ``changed()``, where it is known already."""
        for value in self.changed() if touched is None else touched:
            if id(value) not in images:
                put_back(value, self._baseline[id(value)][1])


_GLOBAL_CHANGES = frozenset((dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]))
_TABLES_AT_ONCE = 64
_VALUES: dict[str, Callable[[Any], Iterable[Any]]] = {
    "dict": dict.values, "object": dict.values, "class": types.MappingProxyType.values
}  # fmt: skip


class _Tables:
    """Some dicts, or objects or classes whose ``__dict__`` is all there is to them, compared with their contents then
    at once.

    Most objects of a model are such tables; looking at one after the other, exploring takes three times as long.
    """

    __slots__ = ("_ids", "_kind", "_names", "_sizes", "values")

    def __init__(self, values: list[Any], kind: str) -> None:
        self.values = values
        self._kind = kind
        self._sizes, self._ids, self._names = self._contents()

    def is_as_then(self) -> bool:
        return self._contents() == (self._sizes, self._ids, self._names)

    def _contents(self) -> tuple[list[int], list[int], list[Any]]:
        tables = self.values if self._kind == "dict" else [*map(vars, self.values)]
        ids = [*map(id, chain.from_iterable(map(_VALUES[self._kind], tables)))]
        return [*map(len, tables)], ids, [*chain.from_iterable(tables)]


def _grouped(
    baseline: dict[int, tuple[Any, Image, tuple[int, ...]]],
) -> tuple[list[Any], list[_Tables], list[tuple[Any, Any]], list[tuple[Any, Any]], list[Any]]:
    """The objects of ``baseline``: empty collections, tables, plain sets and cells with their contents then, and the
    others."""
    everything = [value for value, _, _ in baseline.values()]
    # Nine in ten, because of the hooks of modules; looking whether they still are empty costs next to nothing.
    empty = [v for v in everything if type(v) in (dict, OrderedDict, set) and not v]
    nothing = set(map(id, empty))
    kinds: dict[str, list[Any]] = {}
    for value in everything:
        if id(value) not in nothing:
            kinds.setdefault(_kind_of(value), []).append(value)
    sets = [(v, frozenset(v)) for v in kinds.pop("set", ())]
    cells = [(v, _cell_contents(v)) for v in kinds.pop("cell", ())]
    others = kinds.pop("other", [])
    tables = [
        _Tables(alike[n : n + _TABLES_AT_ONCE], kind)
        for kind, alike in kinds.items()
        for n in range(0, len(alike), _TABLES_AT_ONCE)
    ]
    return empty, tables, sets, cells, others


def _kind_of(value: Any) -> str:
    """How to see whether ``value`` has changed. A table ("dict", "object", "class") holds everything that ``image_of``
    sees: itself, or its ``__dict__``."""
    if isinstance(value, torch.nn.Module):
        has_more = isinstance(value, dict) or any("__slots__" in vars(kind) for kind in type(value).__mro__)
        return "other" if has_more else "object"
    if isinstance(value, type):
        return "class"
    if type(value) in (dict, OrderedDict):
        return "dict"
    return {set: "set", types.CellType: "cell"}.get(type(value), "other")


def _cell_contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY_CELL


def _is_code(value: Any) -> bool:
    return isinstance(value, (types.FunctionType, property, staticmethod, classmethod))


def join_name(path: str, label: Any, owner: Any) -> str:
    """A readable path: ``layer.cache``, ``memory['k']``, ``items[0]``; the tables of nn.Module do not show."""
    if isinstance(label, tuple) and label[0] == "attr":
        name = str(label[1])
        if isinstance(owner, torch.nn.Module) and name in ("_parameters", "_buffers", "_modules"):
            return path + "\0"
        return f"{path}.{name}" if path else name
    if isinstance(label, tuple) and label[0] == "key":
        if path.endswith("\0"):
            path = path[:-1]
            return f"{path}.{label[1]}" if path else str(label[1])
        return f"{path}[{label[1]!r}]"
    return f"{path}[{label!r}]"


def capture(frames: list[Frame], world: World, path: PathState, touched: list[Any] | None = None) -> Snapshot:
    """The present point of the run. ``path`` is copied. touched: ``world.changed()``, where it is known already."""
    images: dict[int, tuple[Any, Image]] = {}
    work: list[Any] = list(frames)
    work.extend(world.changed() if touched is None else touched)
    changed = set(map(id, work))
    seen: set[int] = set()
    while work:
        value = work.pop()
        if is_atomic(value) or id(value) in seen or isinstance(value, torch.Tensor):
            continue
        seen.add(id(value))
        if id(value) not in changed and value in world:
            continue
        if is_tracked(value):
            image = image_of(value)
            images[id(value)] = (value, image)
            if isinstance(value, Frame):
                work.extend(_live_references(value))
            elif not isinstance(value, HostList):
                work.extend(image[1])
        else:
            work.extend(ref for _, ref in children(value))
    return Snapshot(tuple(frames), images, path.copy())


def is_reachable(value: Any, frames: list[Frame], world: World, path: PathState) -> bool:
    """Whether the program can still get hold of a mutable object that is on no stack."""
    return value in world or id(value) in capture(frames, world, path).images


def _live_references(frame: Frame) -> Iterator[Any]:
    yield from frame.stack
    yield from frame.live_locals()
    yield from (frame.mode, frame.handled, frame.generator)


def restore(snapshot: Snapshot, frames: list[Frame], world: World, touched: list[Any] | None = None) -> None:
    """Back to ``snapshot``. touched: ``world.changed()``, where it is known already."""
    world.reset(snapshot.images, touched)
    for value, image in snapshot.images.values():
        put_back(value, image)
    frames[:] = snapshot.frames
