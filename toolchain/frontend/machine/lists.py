"""Operations of host lists: Python's list methods as functional host operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolchain.frontend.context import context
from toolchain.frontend.machine import polyfills, searching
from toolchain.frontend.machine.frame import ReturnMode
from toolchain.frontend.signals import Unsupported
from toolchain.frontend.staged import HostList, context_length, operand_of
from toolchain.frontend.templates import (
    Template,
    common_template,
    element_operands,
    list_operand,
    list_type_of,
    make_element,
    share,
)
from toolchain.ir import Operand

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

    def call(self, method: ListMethod, args: tuple[Any, ...], kwargs: dict[str, Any], mode: ReturnMode) -> Any:
        items, name = method.items, method.name
        if name in ("index", "count", "remove"):
            return searching.search(self._machine, name, items, args, mode)
        if name == "sort":
            return self._machine.calls.call(polyfills.sort_, (items, *args), kwargs, mode)
        if name == "copy":
            return HostList(items.operand, items.template, items.origins)
        if name == "clear":
            self._keep_unshared(items)
            items.operand = self.make(items.template, ())
            return None
        if name == "reverse":
            self._update(items, "list_reverse", ())
            return None
        return getattr(self, name)(items, *args, **kwargs)

    @staticmethod
    def make(template: Template | None, operands: tuple[Operand, ...]) -> Any:
        return context().host("list", operands, list_type_of(template), (template.arity if template else 0,))

    def _update(self, items: HostList, opcode: str, operands: tuple[Any, ...]) -> None:
        self._keep_unshared(items)
        items.operand = context().host(opcode, (items.operand, *operands), list_type_of(items.template))

    def _keep_unshared(self, items: HostList) -> None:
        """A list inside another one is part of that one's value: a change would go unnoticed there."""
        if items.is_part:
            self._refuse_sharing(items)

    def _refuse_sharing(self, items: HostList) -> None:
        if items.origins:
            self._machine.recorder.need_constant(items.origins, "a list that changes inside a list of unknown length")
        raise Unsupported(
            "TC146", "a list that is in a list of unknown length changes, or may do so", "append a copy: list(...)"
        )

    def _element(self, items: HostList, value: Any) -> tuple[Any, ...]:
        """The operands of an element that is about to be added; widens the template."""
        recorder = self._machine.recorder
        fits, template = common_template((value,), items.template)
        if not fits:
            recorder.need_constant(items.origins, "a list of unknown length with elements of different kinds")
        items.template = template
        for part in value if isinstance(value, tuple) else (value,):
            if type(part) is list and self._machine.driver.is_reachable(part):
                self._refuse_sharing(items)
            share(recorder, part, items.origins)
        return element_operands(recorder, value, self.make)

    def append(self, items: HostList, value: Any) -> None:
        self._update(items, "list_append", self._element(items, value))

    def insert(self, items: HostList, at: Any, value: Any) -> None:
        operands = self._element(items, value)
        self._update(items, "list_insert", (operand_of(at), *operands))

    def extend(self, items: Any, more: Any) -> None:
        if isinstance(items, list):
            self._machine.recorder.need_constant(more.origins, "extending a list by a list of unknown length")
        if isinstance(more, HostList):
            joined = items.template.join(more.template) if items.template and more.template else None
            if items.template and more.template and not joined:
                self._machine.recorder.need_constant(
                    items.origins | more.origins, "joining lists of different elements"
                )
            items.template = joined or items.template or more.template
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
            kept = context().host("list_slice", operands, list_type_of(items.template))
            return HostList(kept, items.template, items.origins)
        if items.template is None:
            raise IndexError("list index out of range")
        length = context_length(items)
        self._machine.recorder.require_staged_value(
            (length > key) & (length >= -key), IndexError, "list index out of range"
        )
        results = self._machine.recorder.host_many("list_get", (items.operand, operand_of(key)), items.template.parts)
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
        recorder = self._machine.recorder
        fits, template = common_template(values, template)
        if not fits or any(type(p) is list for v in values for p in (v if isinstance(v, tuple) else (v,))):
            recorder.need_constant(origins, "a list of unknown length with elements of different kinds")
        return HostList(list_operand(recorder, values, template, self.make), template, origins)

    def length(self, items: HostList) -> Any:
        return context_length(items)
