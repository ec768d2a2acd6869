"""Operations of host lists: Python's list methods as functional host operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolchain.frontend.signals import Unsupported
from toolchain.frontend.staged import HostList, context, context_length, operand_of
from toolchain.frontend.templates import Template, element_operands, element_types, make_element, share, template_of
from toolchain.ir import ListType, TupleType, Type

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine


class ListMethod:
    """A bound method of a host list."""

    __slots__ = ("items", "name")

    def __init__(self, items: HostList, name: str) -> None:
        self.items = items
        self.name = name


class HostLists:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def method(self, items: HostList, name: str) -> ListMethod:
        if name not in (
            "append",
            "extend",
            "pop",
            "insert",
            "copy",
            "clear",
            "reverse",
            "index",
            "count",
            "remove",
            "sort",
        ):
            raise AttributeError(f"'list' object has no attribute '{name}'")
        return ListMethod(items, name)

    def call(self, method: ListMethod, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        items, name = method.items, method.name
        if name in ("index", "count", "remove", "sort"):
            self._machine.recorder.need_constant(items.origins, f"list.{name}() of a list of unknown length")
        if name == "copy":
            return HostList(items.operand, items.template, items.origins)
        if name == "clear":
            items.operand = context().host("list", (), self.type(items), (self._arity(items),))
            return None
        if name == "reverse":
            self._update(items, "list_reverse", ())
            return None
        return getattr(self, name)(items, *args, **kwargs)

    def type(self, items: HostList) -> ListType:
        return list_type_of(items.template)

    @staticmethod
    def _arity(items: HostList) -> int:
        return items.template.arity if items.template is not None else 0

    def _update(self, items: HostList, opcode: str, operands: tuple[Any, ...]) -> None:
        items.operand = context().host(opcode, (items.operand, *operands), self.type(items))

    def _element(self, items: HostList, value: Any) -> tuple[Any, ...]:
        recorder = self._machine.recorder
        if items.template is None:
            items.template = template_of(value)
        elif not items.template.accepts(value):
            recorder.need_constant(items.origins, "a list of unknown length with elements of different kinds")
        for part in value if isinstance(value, (tuple, list)) else (value,):
            share(recorder, part, items.origins)
        return element_operands(recorder, value)

    def append(self, items: HostList, value: Any) -> None:
        self._update(items, "list_append", self._element(items, value))

    def insert(self, items: HostList, at: Any, value: Any) -> None:
        operands = self._element(items, value)
        self._update(items, "list_insert", (operand_of(at), *operands))

    def extend(self, items: Any, more: Any) -> None:
        if isinstance(items, list):
            self._machine.recorder.need_constant(more.origins, "extending a list by a list of unknown length")
        if isinstance(more, HostList):
            if items.template is not None and more.template is not None and not items.template.same(more.template):
                self._machine.recorder.need_constant(
                    items.origins | more.origins, "joining lists of different elements"
                )
            items.template = items.template or more.template
            self._update(items, "list_extend", (more.operand,))
        else:
            from toolchain.frontend.machine.operations import iterate_static

            for value in iterate_static(self._machine, more):
                self.append(items, value)

    def pop(self, items: HostList, at: Any = -1) -> Any:
        self._check_not_empty(items, at)
        value = self.get(items, at)
        self._update(items, "list_pop", (operand_of(at),))
        return value

    def _check_not_empty(self, items: HostList, at: Any) -> None:
        if isinstance(at, int):
            enough = context_length(items) >= (at + 1 if at >= 0 else -at)
            self._machine.recorder.require_staged_value(
                enough, IndexError, "pop from empty list" if at in (-1, 0) else "pop index out of range"
            )

    def get(self, items: HostList, key: Any) -> Any:
        if isinstance(key, slice):
            if key.step not in (None, 1):
                self._machine.recorder.need_constant(items.origins, "a slice with a step of a list of unknown length")
            operands = (items.operand, operand_of(key.start), operand_of(key.stop))
            return HostList(context().host("list_slice", operands, self.type(items)), items.template, items.origins)
        if items.template is None:
            raise IndexError("list index out of range")
        length = context_length(items)
        self._machine.recorder.require_staged_value(
            (length > key) & (length >= -key), IndexError, "list index out of range"
        )
        results = self._machine.recorder.host_many(
            "list_get", (items.operand, operand_of(key)), element_types(items.template)
        )
        return make_element(self._machine.recorder, items.template, results, items.origins)

    def set(self, items: HostList, key: Any, value: Any) -> None:
        length = context_length(items)
        self._machine.recorder.require_staged_value(
            (length > key) & (length >= -key), IndexError, "list assignment index out of range"
        )
        operands = self._element(items, value)
        self._update(items, "list_set", (operand_of(key), *operands))

    def binary(self, function: Any, left: Any, right: Any) -> Any:
        name = function.__name__
        if name in ("add", "iadd"):
            if isinstance(left, HostList):
                target = left if name == "iadd" else HostList(left.operand, left.template, left.origins)
                self.extend(target, right)
                return target
            if isinstance(left, list) and isinstance(right, HostList):
                start = self.from_static(left, right.template, right.origins)
                self.extend(start, right)
                return start
        origins = (left.origins if isinstance(left, HostList) else frozenset()) | (
            right.origins if isinstance(right, HostList) else frozenset()
        )
        return self._machine.recorder.need_constant(origins, f"{name} of a list of unknown length")

    def from_static(self, values: list[Any], template: Template | None, origins: Any) -> HostList:
        """A host list with the elements of a plain one."""
        for value in values:
            template = template or template_of(value)
            if template is None or not template.accepts(value):
                self._machine.recorder.need_constant(
                    origins, "a list of unknown length with elements of different kinds"
                )
        operands = tuple(o for v in values for o in element_operands(self._machine.recorder, v))
        arity = template.arity if template is not None else 0
        return HostList(context().host("list", operands, list_type_of(template), (arity,)), template, origins)

    def contains(self, items: HostList, value: Any) -> Any:
        raise Unsupported("TC124", "'in' on a list of unknown length", "keep a tensor or a flag beside the list")

    def length(self, items: HostList) -> Any:
        return context_length(items)


def list_type_of(template: Template | None) -> ListType:
    if template is None:
        return ListType(None)
    types = element_types(template)
    element: Type = types[0] if not template.arity else TupleType(types)
    return ListType(element)
