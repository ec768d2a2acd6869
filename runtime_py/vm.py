"""The VM host of a bundle from Python: one context of IREE's VM that holds the control flow and all modules.

The same files run from ``iree-run-module`` and from every binding of IREE; this is how a binding loads them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from types import TracebackType
from typing import Any

import iree.runtime as iree

from runtime_py.arrays import Framework, framework_of, from_view, preferred_framework, to_view, write_back
from runtime_py.decisions import Decision
from runtime_py.decode import decode
from runtime_py.device import Device, open_device
from runtime_py.errors import BundleError, DeviceError, HostOverflowError, InputError, SessionError
from runtime_py.format import Manifest, ValueType, VmResult
from runtime_py.hostops_text import exception_type
from runtime_py.integrity import OpenBundle, open_bundle
from runtime_py.recordings import recorded_value
from runtime_py.signature import Match, select_entry
from runtime_py.targets import choose_target, device_kind

_PUSH = {
    "int": iree.VmVariantList.push_int,
    "float": iree.VmVariantList.push_float,
    "bool": iree.VmVariantList.push_int,
}
# What a failed assertion says: a built-in exception, its text, and where the program raised it, or without the place.
_PLACED = re.compile(r"FAILED_PRECONDITION; (\w+): (.*) \[[^]\n]*:\d+\]; ", re.DOTALL)
_RAISED = re.compile(r"FAILED_PRECONDITION; (?:(\w+): )?(.*?); (?:$|\n|while )", re.DOTALL)
_CODED = re.compile(r"\[(RT\d+)\] (.*)", re.DOTALL)


def load(
    path: str | os.PathLike[str], target: str | None = None, verify_hashes: bool = True, traced: bool = False
) -> VmSession:
    """Loads the VM host of a bundle.

    traced: the host program that records its decisions, of a bundle built with ``debug``.

    Raises ``BundleError`` (RT1xx; RT106 if there is no such host) and ``DeviceError`` (RT301 to RT303).
    """
    bundle = open_bundle(path, verify_hashes)
    chosen = choose_target(bundle.manifest, target)
    return VmSession(bundle, chosen, open_device(device_kind(chosen)), traced)


class VmSession:
    """A callable program with its own state, which lives in the VM. Not thread-safe."""

    def __init__(self, bundle: OpenBundle, target: str, device: Device, traced: bool) -> None:
        self._bundle = bundle
        self._device = device
        self._vm = iree.VmInstance()
        files = list(_module_files(bundle.manifest, target, traced))
        libraries = [iree.create_hal_module(self._vm, device.hal), *self._parameters()]
        try:
            modules = [iree.VmModule.mmap(self._vm, str(bundle.path(file))) for file in files]
            self._context = iree.VmContext(self._vm, [*libraries, *modules])
        except Exception as error:
            raise DeviceError("RT303", f"IREE rejects the VM host: {error}") from error
        self._main = modules[-1]

    def _parameters(self) -> Iterator[Any]:
        params = self._bundle.manifest.params
        if params is not None:
            index = iree.ParameterIndex()
            index.load(str(self._bundle.path(params.path)))
            yield iree.create_io_parameters_module(self._vm, index.create_provider("model"))

    @property
    def manifest(self) -> Manifest:
        """What the bundle says about itself."""
        return self._bundle.manifest

    def __enter__(self) -> VmSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        del self._context, self._main

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Raises what the program raises, as the built-in type; values of run time in its text are shown as ``{}``.
        Otherwise ``InputError`` (RT2xx) or ``DeviceError`` (RT3xx).
        """
        match = select_entry(self.manifest.entries, args, kwargs)
        entry = self.manifest.entries[match.entry]
        function = self._main.lookup_function(entry.name)
        described = decode(function.reflection["signature"].encode(), VmResult, entry.name)
        arguments = iree.VmVariantList(len(match.leaves))
        for leaf, kind in zip(match.leaves, entry.inputs, strict=True):
            if framework_of(leaf) is None:
                _PUSH[kind.kind](arguments, leaf)
            else:
                arguments.push_ref(to_view(leaf, self._device, copy=True))
        return self._finished(self._invoke(function, arguments), described, match)

    def reset(self) -> None:
        """Back to the state after loading."""
        if "reset" in self._main.function_names:
            self._invoke(self._main.lookup_function("reset"), iree.VmVariantList(0))

    def path(self) -> list[Decision]:
        """The decisions of the last call, if the host program records them."""
        function = self._main.lookup_function("path")
        if function is None:
            raise BundleError("RT106", "this host program records no decisions", "load the traced one")
        recorded = self._invoke(function, iree.VmVariantList(0)).get_as_list(0)
        number, *steps = (recorded.get_variant(i) for i in range(len(recorded)))
        name = self.manifest.functions[number].name
        return [Decision(name, block, bool(way)) for block, way in zip(steps[::2], steps[1::2], strict=True)]

    def _invoke(self, function: Any, arguments: Any) -> Any:
        results = iree.VmVariantList(8)
        try:
            self._context.invoke(function, arguments, results)
        except Exception as error:
            raise exception_of(str(error)) from error
        return results

    def _finished(self, results: Any, described: VmResult, match: Match) -> Any:
        framework = preferred_framework(match.leaves)
        first = int(len(described.shapes) > 1)
        shape = described.shapes[results.get_variant(0) if first else 0]
        count = len(results) - len(described.mutated)
        for place, index in enumerate(described.mutated, count):
            name = self.manifest.entries[match.entry].inputs[index].name
            view = results.get_as_object(place, iree.HalBufferView)
            write_back(match.leaves[index], view, self._device, f"argument '{name}'")()
        places = zip(shape.columns, shape.types, strict=True)
        leaves = (self._value(results, column + first, kind, framework) for column, kind in places)
        return recorded_value(shape.tree, lambda _: next(leaves))

    def _value(self, items: Any, place: int, kind: ValueType, framework: Framework) -> Any:
        match kind.kind:
            case "tensor":
                return from_view(items.get_as_object(place, iree.HalBufferView), self._device, framework)
            case "list":
                return self._elements(items.get_as_list(place), kind, framework)
            case "bool":
                return bool(items.get_variant(place))
            case _:
                return items.get_variant(place)

    def _elements(self, items: Any, kind: ValueType, framework: Framework) -> list[Any]:
        [element] = kind.elements or (ValueType("int"),)
        parts = element.elements if element.kind == "tuple" else (element,)
        flat = [self._value(items, i, parts[i % len(parts)], framework) for i in range(len(items))]
        if element.kind != "tuple":
            return flat
        return [tuple(flat[i : i + len(parts)]) for i in range(0, len(flat), len(parts))]


def _module_files(manifest: Manifest, target: str, traced: bool) -> Iterator[str]:
    """The modules in the order in which they depend on each other. Raises ``BundleError`` RT106 if there are none."""
    folder = target.replace(":", "-")
    here = [f.path for f in manifest.files if PurePosixPath(f.path).parent.name == folder]
    main = f"debug/vm/{folder}/traced.vmfb" if traced else f"host/vm/{folder}/main.vmfb"
    if main not in here:
        raise BundleError("RT106", f"the bundle has no {main}", "build it with --host vm" + " --debug" * traced)
    yield from sorted(p for p in here if PurePosixPath(p).name.startswith("instance_") and p.startswith("host/vm/"))
    yield main


def exception_of(message: str) -> BaseException:
    """The exception that a status stands for."""
    found = _PLACED.search(message) or _RAISED.search(message)
    if found is None:
        return DeviceError("RT304", f"the VM failed: {message}")
    kind, text = found.groups()
    coded = _CODED.fullmatch(text)
    if coded is not None:
        return _coded(*coded.groups())
    return exception_type(kind)(*((text,) if text else ()))


def _coded(code: str, text: str) -> SessionError:
    if code == "RT307":
        return HostOverflowError(text)
    return {"RT1": BundleError, "RT2": InputError}.get(code[:3], DeviceError)(code, text)
