"""C++ types of IR types."""

from __future__ import annotations

from toolchain.ir import ListType, ScalarType, TensorType, TupleType, Type

TENSOR = "toolchain::Tensor"
_SCALARS = {"int": "std::int64_t", "float": "double", "bool": "bool", "str": "std::string"}
_DTYPES = {"bool": "boolean"}


def cpp_type(kind: Type | None) -> str:
    """The type of variables that hold a value of type ``kind``; None stands for Python's ``None``."""
    match kind:
        case None:
            return "toolchain::None"
        case TensorType():
            return TENSOR
        case ScalarType():
            return _SCALARS[kind.kind]
        case TupleType():
            return f"std::tuple<{', '.join(map(cpp_type, kind.elements))}>"
        case ListType():
            return f"toolchain::List<{cpp_type(kind.element)}>"


def cpp_dtype(name: str) -> str:
    """The constant for PyTorch's dtype ``name``."""
    return f"toolchain::DType::{_DTYPES.get(name, name)}"


def holds_tensors(kind: Type | None) -> bool:
    """Whether a value of type ``kind`` is a tensor or a container with some."""
    match kind:
        case TensorType():
            return True
        case TupleType():
            return any(map(holds_tensors, kind.elements))
        case ListType():
            return holds_tensors(kind.element)
        case _:
            return False
