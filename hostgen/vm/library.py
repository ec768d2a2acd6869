"""The functions that a host program calls but does not define: arithmetic, lists, tensors.

Their names say everything: ``add_int`` is a function of ``scalars.mlir``, ``item__float32_0`` the macro ``item`` of
``tensors.mlir.j2`` with the arguments float32 and 0, ``append__int_tensor`` the macro ``append`` of ``lists.mlir.j2``
for elements of an int and a tensor.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from importlib import resources

import jinja2

from hostgen.vm.types import KINDS, element_type, scalar_kind, view_type
from toolchain.ir import TensorType


def weight_function(name: str, key: str, kind: TensorType) -> str:
    """The function ``name``, which gives a weight of the archive."""
    return _rendered("tensors", "weight", name, key=key, dims=kind.dims, **_viewed(kind.dtype))


_RANGES = {
    dtype: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for dtype, bits in (("int8", 8), ("int16", 16), ("int32", 32))
} | {"uint8": (0, 255)}


def library_for(text: str) -> str:
    """Definitions of the functions that ``text`` calls and that those call, each once."""
    defined = set(re.findall(r"util\.func (?:private|public) @([\w.]+)", text))
    definitions: list[str] = []
    pending = [text]
    while pending:
        for name in _called(pending.pop()):
            if name not in defined:
                defined.add(name)
                definitions.append(_kept_in_place(_definition(name)))
                pending.append(definitions[-1])
    return "\n\n".join(definitions)


def _kept_in_place(definition: str) -> str:
    """``definition`` made safe from the compiler.

    It is public: IREE 3.13 takes two parameters of a private function for one if some call passes the same for both. It
    is never inlined if it may fail, since assertions are moved, but no calls.
    """
    public = definition.replace("util.func private", "util.func public")
    if "cf.assert" not in definition:
        return public
    return public.replace(" {\n", " attributes {inlining_policy = #util.inline.never} {\n", 1)


def _called(text: str) -> Iterator[str]:
    return iter(dict.fromkeys(re.findall(r"util\.call @([\w.]+)", text)))


def _definition(name: str) -> str:
    macro, separator, arguments = name.partition("__")
    if not separator:
        return _scalars()[name]
    if macro in _TENSOR_FUNCTIONS:
        parameters = _TENSOR_FUNCTIONS[macro](*arguments.split("_"))
        return _rendered("tensors", macro, name, **parameters)
    return _rendered("lists", macro, name, types=[KINDS[kind] for kind in arguments.split("_")])


def _rendered(template: str, macro: str, name: str, **parameters: object) -> str:
    return str(getattr(_module(template), macro)(name, **parameters))


@functools.cache
def _scalars() -> Mapping[str, str]:
    text = resources.files("hostgen").joinpath("templates/vm/scalars.mlir").read_text()
    return {match[1]: match[0] for match in re.finditer(r"(?ms)^util\.func private @(\w+).*?^}", text)}


@functools.cache
def _module(name: str) -> jinja2.environment.TemplateModule:
    environment = jinja2.Environment(loader=jinja2.PackageLoader("hostgen"), undefined=jinja2.StrictUndefined)
    environment.globals["suffix"] = _suffix
    return environment.get_template(f"vm/{name}.mlir.j2").module


def _suffix(types: list[str]) -> str:
    kinds = {mlir: kind for kind, mlir in KINDS.items()}
    return "_".join(kinds[t] for t in types)


_Parameters = dict[str, object]


def _item(dtype: str, rank: str) -> _Parameters:
    return {"rank": int(rank), **_reading(dtype)}


def _to_list(dtype: str) -> _Parameters:
    return _reading(dtype)


def _reading(dtype: str) -> _Parameters:
    return {
        "element": element_type(dtype),
        "scalar": KINDS[scalar_kind(dtype)],
        "unsigned": dtype == "uint8",
    }


def _full(dtype: str, dims: str) -> _Parameters:
    return {"dims": dims.split("x")[:-1], "scalar": KINDS[scalar_kind(dtype)], **_viewed(dtype)}


def _viewed(dtype: str) -> _Parameters:
    return {"element": element_type(dtype), "view": view_type(dtype)}


def _convert(kind: str, dtype: str) -> _Parameters:
    low, high = _RANGES.get(dtype, (0, 0))
    return {"kind": kind, "to": scalar_kind(dtype), "dtype": dtype, "low": low, "high": high}


def _from_list(kind: str, dtype: str) -> _Parameters:
    convert = f"convert__{kind}_{dtype}"
    return {"scalar": KINDS[scalar_kind(dtype)], "kind": KINDS[kind], "convert": convert, **_viewed(dtype)}


_TENSOR_FUNCTIONS: dict[str, Callable[..., _Parameters]] = {
    "item": _item,
    "full": _full,
    "convert": _convert,
    "marked": lambda dtype, rank: {"rank": int(rank), "view": view_type(dtype)},
    "stack": lambda dtype, rank: {"rank": int(rank), **_viewed(dtype)},
    "cat": lambda dtype, rank, dim: {"rank": int(rank), "dim": int(dim), **_viewed(dtype)},
    "fromlist": _from_list,
    "tolist": _to_list,
}
