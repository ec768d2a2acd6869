"""The tensors that exist before the call: weights, buffers, captured tensors, literals."""

from __future__ import annotations

import torch

from toolchain.frontend import torch_adapter
from toolchain.frontend.storages import Storage, View
from toolchain.ir import Constant, TensorType


def tensor_type(tensor: torch.Tensor) -> TensorType:
    dims = tuple(None if isinstance(n, torch.SymInt) else int(n) for n in tensor.shape)
    return TensorType(dtype_name(tensor.dtype), dims)


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


class ConstantPool:
    """Names real tensors and gives each one view; tensors that look at the same elements share it."""

    def __init__(self, names: dict[int, str]) -> None:
        """names: preferred names by ``id`` of the tensor."""
        self._names = names
        self._views: dict[int, tuple[torch.Tensor, View]] = {}
        self._by_geometry: dict[tuple[object, ...], View] = {}
        self.tensors: dict[str, torch.Tensor] = {}
        self._constants: dict[Storage, Constant] = {}

    def view(self, tensor: torch.Tensor) -> View:
        found = self._views.get(id(tensor))
        if found is None:
            found = (tensor, self._make_view(tensor))
            self._views[id(tensor)] = found
        return found[1]

    def _make_view(self, tensor: torch.Tensor) -> View:
        key = (tensor.data_ptr() or id(tensor), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)
        view = self._by_geometry.get(key)
        if view is None:
            view = View(Storage(tensor, external=True), tuple(tensor.shape))
            self._by_geometry[key] = view
        return view

    def constant(self, storage: Storage) -> Constant:
        found = self._constants.get(storage)
        if found is None:
            assert storage.real is not None
            found = self._intern(storage.real)
            self._constants[storage] = found
        return found

    def literal(self, tensor: torch.Tensor) -> Constant:
        """A constant for a tensor that the program makes from Python numbers; equal ones are one constant."""
        with torch_adapter.real_mode():
            for name, known in self.tensors.items():
                if name.startswith("literal") and _identical(known, tensor):
                    return Constant(name, tensor_type(known))
            return self._add(f"literal{len(self.tensors)}", tensor.detach().clone())

    def _intern(self, tensor: torch.Tensor) -> Constant:
        with torch_adapter.real_mode():
            return self._add(self._names.get(id(tensor), f"captured{len(self.tensors)}"), tensor.detach())

    def _add(self, name: str, tensor: torch.Tensor) -> Constant:
        if name in self.tensors:
            name = f"{name}.{len(self.tensors)}"
        self.tensors[name] = tensor
        return Constant(name, tensor_type(tensor))

    def tensor_behind(self, storage: int) -> torch.Tensor | None:
        """The real tensor of the storage with this ``id``."""
        return next((v.storage.real for _, v in self._views.values() if id(v.storage) == storage), None)

    def aliases(self, storage: Storage) -> bool:
        """Whether some other known tensor looks at a part of the same memory."""
        assert storage.real is not None
        if storage.real.numel() == 0:
            return False
        memory = storage.real.untyped_storage().data_ptr()
        views = {v for t, v in self._views.values() if t.numel() and t.untyped_storage().data_ptr() == memory}
        return len(views) > 1


def _identical(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape or a.numel() > 4096:
        return False
    return (
        a.contiguous().flatten().view(torch.uint8).equal(b.contiguous().flatten().view(torch.uint8))
        if a.numel()
        else True
    )
