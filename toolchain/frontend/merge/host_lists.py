"""Merging lists of different length: they become host lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from toolchain.frontend.heap import Image, image_of
from toolchain.frontend.merge.heaps import Heaps
from toolchain.frontend.merge.hints import Mismatch, Path
from toolchain.frontend.merge.join import Join, Parameter
from toolchain.frontend.merge.wording import kind_of
from toolchain.frontend.signals import Origin
from toolchain.frontend.staged import HostList
from toolchain.frontend.storages import Storage
from toolchain.frontend.templates import Template, common_template, list_type_of
from toolchain.ir import Operand

ListOperand = Callable[[int, list[Any], Template | None], Operand]
"""Emits a plain list as a host list at the end of an arrival."""


class HostListMerger:
    """shared: the storages of tensors that are elements of lists which became host lists, with the origins to blame."""

    def __init__(self, join: Join, heaps: Heaps, list_operand: ListOperand) -> None:
        self._join = join
        self._heaps = heaps
        self._list_operand = list_operand
        self.shared: dict[Storage, set[Origin]] = {}

    def merge(self, path: Path, refs: tuple[Any, ...], key: tuple[int, ...]) -> HostList:
        join, heaps = self._join, self._heaps
        if not all(isinstance(r, HostList) or type(r) is list for r in refs):
            raise Mismatch(
                path, f"a list on one path, {kind_of(next(r for r in refs if type(r) is not list))} on another"
            )
        contents = [self._list_image(n, r, path) for n, r in enumerate(refs)]
        same = all(isinstance(r, HostList) for r in refs) and all(c[1][0] == contents[0][1][0] for c in contents)
        same = same and not join.isolated
        hint = join.hints.leaves.get(path)
        if hint in ("const", "keep") and not same:
            raise Mismatch(path, "lists of different length, and the length is needed as a constant")
        template = self._template(path, refs, contents)
        operands = []
        for n, (ref, image) in enumerate(zip(refs, contents, strict=True)):
            if isinstance(ref, HostList):
                operands.append(image[1][0])
            else:
                operands.append(self._list_operand(n, list(image[1]), template))
        heaps.own(path, refs, key)
        if same and hint != "vary":
            heaps.memo[key] = refs[0]
            heaps.images[id(refs[0])] = (refs[0], contents[0])
            return refs[0]  # type: ignore[no-any-return]
        is_part = any(isinstance(r, HostList) and c[1][3] for r, c in zip(refs, contents, strict=True))
        return self._list_parameter(path, key, tuple(operands), template, is_part)

    def _list_parameter(
        self, path: Path, key: tuple[int, ...], operands: tuple[Operand, ...], template: Template | None, is_part: bool
    ) -> HostList:
        join, heaps = self._join, self._heaps
        value = join.value(path, list_type_of(template))
        found = join.parameters.setdefault(("list", operands), Parameter(value, operands, path))
        join.profile[path] = ("list", template)
        join.new_hints.leaves[path] = "vary"
        if template is not None:
            join.new_hints.templates[path] = template
        origins = frozenset({join.origin(path)})
        merged: HostList = join.cache.setdefault(("list", path), HostList(found.value, template, origins))
        heaps.memo[key] = merged
        heaps.images[id(merged)] = (merged, image_of(HostList(found.value, template, origins, is_part)))
        return merged

    def _list_image(self, arrival: int, ref: Any, path: Path) -> Image:
        image = self._heaps.image(arrival, ref)
        if isinstance(ref, HostList):
            return image
        return image[0], tuple(self._part(arrival, r, path, (n,)) for n, r in enumerate(image[1]))

    def _part(self, arrival: int, ref: Any, path: Path, at: Path) -> Any:
        """An element of the list ``path`` that becomes a host list, as it is in ``arrival``. Its tensors cannot be
        changed in place any more; lists in it become part of its value, so nothing else may know them."""
        if isinstance(ref, torch.Tensor):
            storage = self._join.recorder.view_of(ref).storage
            self.shared.setdefault(storage, set()).add(self._join.origin(path))
        if type(ref) is tuple:
            return tuple(self._part(arrival, r, path, (*at, n)) for n, r in enumerate(ref))
        if type(ref) is not list and not isinstance(ref, HostList):
            return ref
        contents = self._heaps.image(arrival, ref)[1]
        if (not isinstance(ref, HostList) or not contents[3]) and not self._heaps.own_part(
            arrival, ref, ("part", *path, *at)
        ):
            raise Mismatch(path, "a list that is in a list of unknown length and elsewhere as well")
        if isinstance(ref, HostList):
            return HostList(*contents)
        return [self._part(arrival, r, path, (*at, n)) for n, r in enumerate(contents)]

    def _template(self, path: Path, refs: tuple[Any, ...], contents: list[Image]) -> Template | None:
        template = self._join.hints.templates.get(path)
        for ref, image in zip(refs, contents, strict=True):
            if isinstance(ref, HostList):
                of = image[1][1]
                joined = template.join(of) if template and of else template or of
                fits = joined is not None or of is None
            else:
                fits, joined = common_template(image[1], template)
            if not fits:
                raise Mismatch(path, "lists of different length with elements of different kinds")
            template = joined
        return template
