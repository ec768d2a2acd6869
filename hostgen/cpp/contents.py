"""What a bundle holds, as C++ tables: known only when everything but these tables has been written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hostgen.cpp.arrays import Array, Arrays
from hostgen.cpp.literals import quoted
from hostgen.cpp.types import cpp_dtype
from runtime_py.format import File, Instance, Manifest, Module, ModuleFile, Params, Weight
from runtime_py.targets import required_flags


@dataclass(frozen=True, slots=True)
class Contents:
    """info: the initialiser of the ``BundleInfo``; its tables are among ``arrays``, each after those that it uses."""

    arrays: tuple[Array, ...]
    info: str


def describe_contents(manifest: Manifest, constants: Iterable[str]) -> Contents:
    """constants: names of the weights that host code reads."""
    describer = _Describer(manifest)
    fields = (quoted(manifest.name), quoted(manifest.versions.iree), *describer.tables(constants), describer.archive())
    return Contents(tuple(describer.arrays), f"{{{', '.join(fields)}}}")


class _Describer:
    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._weights = manifest.params.weights if manifest.params else ()
        self._positions = {weight.name: i for i, weight in enumerate(self._weights)}
        self._numbers = {module.id: i for i, module in enumerate(manifest.modules)}
        self.arrays = Arrays()

    def tables(self, constants: Iterable[str]) -> tuple[str, ...]:
        make = self.arrays.make
        return (
            make("toolchain::TargetInfo", map(self._target, self._manifest.targets)),
            make("toolchain::ModuleInfo", map(self._module, self._manifest.modules)),
            make("toolchain::InstanceInfo", map(self._instance, self._manifest.instances)),
            make("toolchain::WeightInfo", map(self._weight, self._weights)),
            make("uint32_t", (str(self._positions[name]) for name in constants)),
        )

    def archive(self) -> str:
        return _file(self._manifest.params)

    def _target(self, name: str) -> str:
        # What a GPU must have is for its driver to say.
        flags = sorted(required_flags(self._manifest, name)) if name.startswith("cpu:") else []
        return f"{{{quoted(name)}, {self.arrays.make('const char*', map(quoted, flags))}}}"

    def _module(self, module: Module) -> str:
        places = ", ".join(f"{place.file}:{place.line}" for place in module.places[:3]) or "no source"
        parameters = "".join({"tensor": "t", "i64": "i", "f64": "f"}[kind] for kind in module.parameters)
        results = self.arrays.make("toolchain::DType", (cpp_dtype(result.dtype) for result in module.results))
        files = (_file(module.files.get(target)) for target in self._manifest.targets)
        texts = ", ".join(map(quoted, (module.id, module.function, places, parameters)))
        return f"{{{texts}, {results}, {self.arrays.make('toolchain::FileInfo', files)}}}"

    def _instance(self, instance: Instance) -> str:
        weights = self.arrays.make("uint32_t", (str(self._positions[name]) for name in instance.weights))
        return f"{{{self._numbers[instance.module]}, {weights}}}"

    def _weight(self, weight: Weight) -> str:
        dims = self.arrays.make("int64_t", map(str, weight.shape))
        return f"{{{quoted(weight.name)}, {cpp_dtype(weight.dtype)}, {dims}, {weight.offset}, {weight.length}}}"


def _file(file: File | ModuleFile | Params | None) -> str:
    return "{}" if file is None else f"{{{quoted(file.path)}, {file.size}, {quoted(file.sha256)}}}"
