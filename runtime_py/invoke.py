"""Compiled modules as plain callables, with their weights bound from the mapped archive."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import Any, TypeAlias

import iree.runtime as iree
import numpy as np
from iree.runtime.version import VERSION

from runtime_py.device import Device
from runtime_py.dtypes import DTYPES
from runtime_py.errors import BundleError, DeviceError
from runtime_py.format import Instance, Manifest, Module, Weight, parameter_key
from runtime_py.integrity import OpenBundle

# Takes buffer views, ints and floats; gives a buffer view, or a tuple of them unless there is exactly one result.
Callee: TypeAlias = Callable[..., Any]

_PUSH = {
    "tensor": iree.VmVariantList.push_ref,
    "i64": iree.VmVariantList.push_int,
    "f64": iree.VmVariantList.push_float,
}
_UNSIGNED = ("uint8",)


class Archive:
    """The weight archive, mapped into memory once; nothing is copied on the host's device.

    The mapping is private: IREE asks for writable memory, but no write would reach the file.
    """

    def __init__(self, bundle: OpenBundle) -> None:
        params = bundle.manifest.params
        self.weights: dict[str, Weight] = {} if params is None else {w.name: w for w in params.weights}
        self._memory: Any = b""
        if params is not None:
            with bundle.path(params.path).open("rb") as file:
                self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            self._handle = iree.FileHandle.wrap_memory(self._memory)
            self._check(params.path)

    def _check(self, path: str) -> None:
        for weight in self.weights.values():
            if weight.offset < 0 or weight.length < 0 or weight.offset + weight.length > len(self._memory):
                raise BundleError("RT102", f"weight {weight.name!r} lies outside of {path}")

    def weight(self, name: str) -> Weight:
        try:
            return self.weights[name]
        except KeyError:
            raise BundleError("RT102", f"the bundle has no weight {name!r}") from None

    def provider(self, names: tuple[str, ...]) -> Any:
        """An IREE parameter provider: scope "model", each ``parameter_key`` is one of the weights ``names``."""
        index = iree.ParameterIndex()
        for i, name in enumerate(names):
            weight = self.weight(name)
            index.add_from_file_handle(parameter_key(i), self._handle, weight.length, weight.offset)
        return index.create_provider("model")

    def view(self, name: str, device: Device) -> Any:
        """A weight as a buffer view on ``device``."""
        weight = self.weight(name)
        dtype = DTYPES[weight.dtype]
        data = memoryview(self._memory)[weight.offset : weight.offset + weight.length]
        if device.is_host and weight.length:
            return device.share(data, weight.shape, dtype)
        return device.upload(np.frombuffer(data, dtype.storage).reshape(weight.shape), dtype)


class Modules:
    """The modules of one target, read once and shared by all sessions of a bundle."""

    def __init__(self, bundle: OpenBundle, target: str, device: Device, archive: Archive) -> None:
        self._manifest = bundle.manifest
        self._device = device
        self._archive = archive
        self._vm = iree.VmInstance()
        self._hal = iree.create_hal_module(self._vm, device.hal)
        self._modules = {m.id: (m, self._read(bundle, m, target)) for m in bundle.manifest.modules}

    def _read(self, bundle: OpenBundle, module: Module, target: str) -> Any:
        if target not in module.files:
            raise BundleError("RT102", f"module {module.id!r} has no file for {target}")
        path = bundle.path(module.files[target].path)
        try:
            return iree.VmModule.mmap(self._vm, str(path))
        except Exception as error:
            raise _rejected(module, self._manifest, error) from error

    def callees(self) -> tuple[Callee, ...]:
        """Fresh callables for all instances: contexts are not thread-safe, so every session has its own."""
        return tuple(self._callee(instance) for instance in self._manifest.instances)

    def _callee(self, instance: Instance) -> Callee:
        if instance.module not in self._modules:
            raise BundleError("RT102", f"an instance names the unknown module {instance.module!r}")
        module, code = self._modules[instance.module]
        libraries = [self._hal]
        if instance.weights:
            libraries.append(iree.create_io_parameters_module(self._vm, self._archive.provider(instance.weights)))
        try:
            context = iree.VmContext(self._vm, [*libraries, code])
        except Exception as error:
            raise _rejected(module, self._manifest, error) from error
        function = code.lookup_function(module.function)
        if function is None:
            raise BundleError("RT102", f"module {module.id!r} has no function {module.function!r}")
        return prepare(context, function, module)


def _rejected(module: Module, manifest: Manifest, error: Exception) -> DeviceError:
    text = f"IREE rejects module {module.id!r}: {error}"
    hint = f"it was compiled by IREE {manifest.versions.iree}, the installed runtime is {VERSION}; both must match"
    return DeviceError("RT303", text, hint)


def prepare(context: Any, function: Any, module: Module) -> Callee:
    """The call path: everything that does not depend on the operands is looked up here, once."""
    pushes = tuple(_PUSH[kind] for kind in module.parameters)
    arity, count = len(pushes), len(module.results)
    invoke, new_list = context.invoke, iree.VmVariantList
    read = _read_tensor if all(r.kind == "tensor" for r in module.results) else _reader(module)
    indices = range(count)

    def call(*operands: Any) -> Any:
        try:
            arguments, results = new_list(arity), new_list(count)
            for push, operand in zip(pushes, operands, strict=True):
                push(arguments, operand)
            invoke(function, arguments, results)
            if count == 1:
                return read(results, 0)
            return tuple([read(results, i) for i in indices])
        except Exception as error:
            raise _failed(module, error) from error

    unsigned = tuple(i for i in indices if module.results[i].dtype in _UNSIGNED)
    return _with_unsigned(call, unsigned, module) if unsigned else call


def _read_tensor(results: Any, index: int) -> Any:
    return results.get_as_object(index, iree.HalBufferView)


def _reader(module: Module) -> Callable[[Any, int], Any]:
    """Reads results of which some are VM integers or doubles."""
    is_tensor = [result.kind == "tensor" for result in module.results]

    def read(results: Any, index: int) -> Any:
        return _read_tensor(results, index) if is_tensor[index] else results.get_variant(index)

    return read


def _with_unsigned(call: Callee, unsigned: tuple[int, ...], module: Module) -> Callee:
    """``call`` with the element types of results put right: modules forget that an integer is unsigned."""

    def corrected(*operands: Any) -> Any:
        found = call(*operands)
        views = [found] if len(module.results) == 1 else list(found)
        for i in unsigned:
            element = DTYPES[module.results[i].dtype].element
            views[i] = iree.HalBufferView(views[i].get_buffer(), views[i].shape, element)
        return views[0] if len(views) == 1 else tuple(views)

    return corrected


def _failed(module: Module, error: Exception) -> DeviceError:
    places = ", ".join(f"{p.file}:{p.line}" for p in module.places[:3])
    hint = "no tensor may be without elements on Vulkan" if "empty buffer range" in str(error) else ""
    return DeviceError("RT304", f"module {module.id!r} ({places or 'no source'}) failed: {error}", hint)
