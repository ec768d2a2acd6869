"""Python constants of the manifest as values, and back."""

from __future__ import annotations

from typing import TypeAlias

from runtime_py.errors import BundleError
from runtime_py.format import Constant

PythonConstant: TypeAlias = "bool | int | float | str | tuple[PythonConstant, ...] | None"


def to_constant(value: object) -> Constant:
    """The manifest form of None, a bool, int, float or str, or a tuple of such. Raises ``TypeError`` otherwise."""
    match value:
        case None:
            return Constant("none")
        case bool():
            return Constant("bool", repr(value))
        case int():
            return Constant("int", repr(value))
        case float():
            return Constant("float", repr(value))
        case str():
            return Constant("str", value)
        case tuple():
            return Constant("tuple", items=tuple(map(to_constant, value)))
    raise TypeError(f"no literal: {value!r}")


def from_constant(constant: Constant) -> PythonConstant:
    """The constant that ``constant`` stands for. Raises ``BundleError`` RT102 if its text is not of its kind."""
    try:
        match constant.kind:
            case "none":
                return None
            case "bool":
                return {"True": True, "False": False}[constant.text]
            case "int":
                return int(constant.text)
            case "float":
                return float(constant.text)
            case "str":
                return constant.text
            case "tuple":
                return tuple(map(from_constant, constant.items))
    except (KeyError, ValueError) as error:
        raise BundleError("RT102", f"{constant.text!r} is no {constant.kind}", "build the bundle again") from error


def same_constant(a: object, b: object) -> bool:
    """Equality that tells 1, True and 1.0 apart, as well as 0.0 and -0.0, and holds for nan."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same_constant, a, b))
    return type(a) is type(b) and repr(a) == repr(b)
