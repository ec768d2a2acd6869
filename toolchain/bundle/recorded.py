"""Recorded calls as files: trees in JSON, tensors as .npy beside it."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from runtime_py.arrays import dtype_name, framework_of
from runtime_py.constants import to_constant
from runtime_py.format import RecordedCall, Recording, Tree
from toolchain.bundle.manifest import encode_recording

RECORDING = "calls.json"


class Recorded(Protocol):
    """A call and its outcome, with tensors of either kind; ``exception`` is (built-in type, text)."""

    @property
    def args(self) -> tuple[Any, ...]: ...
    @property
    def kwargs(self) -> dict[str, Any]: ...
    @property
    def result(self) -> Any: ...
    @property
    def exception(self) -> tuple[str, str] | None: ...
    @property
    def printed(self) -> str: ...
    @property
    def after(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None: ...


def encode_calls(calls: Sequence[Recorded]) -> Mapping[str, bytes]:
    """File names to contents: ``calls.json`` and the arrays that it names.

    Raises ``TypeError`` for a value that is neither a tensor, a constant, nor a container or object of these.
    """
    files: dict[str, bytes] = {}
    encoded = tuple(_call(call, f"call{i}", files) for i, call in enumerate(calls))
    files[RECORDING] = encode_recording(Recording(encoded))
    return files


def _call(call: Recorded, stem: str, files: dict[str, bytes]) -> RecordedCall:
    arguments = _Encoder(f"{stem}_in", files).encode((call.args, call.kwargs))
    after = None if call.after is None else _Encoder(f"{stem}_after", files).encode(call.after)
    if call.exception is not None:
        return RecordedCall(arguments, None, *call.exception, call.printed, after)
    result = _Encoder(f"{stem}_out", files).encode(call.result)
    return RecordedCall(arguments, result, printed=call.printed, after=after)


class _Encoder:
    def __init__(self, stem: str, files: dict[str, bytes]) -> None:
        self._stem = stem
        self._files = files
        self._count = 0

    def encode(self, value: Any) -> Tree:
        if framework_of(value) is not None:
            return self._tensor(value)
        if isinstance(value, dict):
            return Tree("dict", self._items(value.values()), tuple(map(to_constant, value)))
        if isinstance(value, (list, set, frozenset)):
            return Tree("list" if isinstance(value, list) else "set", self._items(value))
        if isinstance(value, tuple):
            return self._tuple(value)
        if dataclasses.is_dataclass(value):
            return self._object(value, "dataclass", [f.name for f in dataclasses.fields(value)])
        if hasattr(value, "__dict__"):
            return self._object(value, "plain", list(value.__dict__))
        return Tree("literal", literal=to_constant(value))

    def _items(self, values: Any) -> tuple[Tree, ...]:
        return tuple(map(self.encode, values))

    def _tuple(self, value: tuple[Any, ...]) -> Tree:
        if fields := getattr(value, "_fields", None):
            return self._object(value, "namedtuple", list(fields))
        return Tree("tuple" if type(value) is tuple else "size", self._items(value))

    def _object(self, value: Any, kind: Any, fields: list[str]) -> Tree:
        cls = f"{type(value).__module__}:{type(value).__qualname__}"
        items = self._items(getattr(value, name) for name in fields)
        return Tree(kind, items, cls=cls, fields=tuple(fields))

    def _tensor(self, value: Any) -> Tree:
        name = f"{self._stem}{self._count}.npy"
        self._count += 1
        stream = io.BytesIO()
        np.save(stream, _bits(value), allow_pickle=False)
        self._files[name] = stream.getvalue()
        return Tree("leaf", file=name, dtype=dtype_name(value))


def _bits(value: Any) -> np.ndarray[Any, Any]:
    """The array itself; of bfloat16 its bits as uint16."""
    is_bfloat16 = dtype_name(value) == "bfloat16"
    if isinstance(value, np.ndarray):
        return value.view(np.uint16) if is_bfloat16 else value
    import torch

    tensor = value.detach().cpu().contiguous()
    array: np.ndarray[Any, Any] = (tensor.view(torch.int16) if is_bfloat16 else tensor).numpy()
    return array.view(np.uint16) if is_bfloat16 else array
