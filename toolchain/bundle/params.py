"""The weight archive: what the bundle needs of a program's constants, equal tensors once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime_py.format import Params, Weight
from runtime_py.integrity import hash_file
from toolchain.ir import Constant, Program, instances, operands_of

if TYPE_CHECKING:
    import torch

ARCHIVE = "params/model.irpa"


def used_constants(program: Program) -> tuple[str, ...]:
    """Names of the constants that instances bind, host code reads, or the state starts with, in order of first use."""
    names = [name for _, weights in instances(program) for name in weights]
    for function in program.functions:
        for block in function.blocks:
            nodes = (*block.operations, block.terminator)
            names += [x.name for node in nodes for x in operands_of(node) if isinstance(x, Constant)]
    names += [value.name for value in program.initial_state if isinstance(value, Constant)]
    return tuple(dict.fromkeys(names))


def write_archive(constants: Mapping[str, torch.Tensor], names: Iterable[str], root: Path) -> Params | None:
    """Writes ``params/model.irpa`` under ``root`` with the constants ``names``; None if there are none."""
    tensors = {name: constants[name] for name in names}
    if not tensors:
        return None
    path = root / ARCHIVE
    path.parent.mkdir(parents=True, exist_ok=True)
    keys = {name: content_key(tensor) for name, tensor in tensors.items()}
    places = _write({keys[name]: tensor for name, tensor in tensors.items()}, path)
    weights = tuple(_weight(name, tensor, *places[keys[name]]) for name, tensor in tensors.items())
    return Params(ARCHIVE, path.stat().st_size, hash_file(path), weights)


def _write(contents: Mapping[str, torch.Tensor], path: Path) -> dict[str, tuple[int, int]]:
    import iree.runtime as iree

    index = iree.ParameterIndex()
    for key, tensor in contents.items():
        index.add_buffer(key, _bytes_of(tensor))
    written = index.create_archive_file(str(path))
    return {entry.key: (entry.file_storage[1], entry.length) for _, entry in written.items()}


def _weight(name: str, tensor: torch.Tensor, offset: int, length: int) -> Weight:
    return Weight(name, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), offset, length)


def content_key(tensor: torch.Tensor) -> str:
    """The archive's key of a constant."""
    return hashlib.sha256(_bytes_of(tensor)).hexdigest()


def _bytes_of(tensor: torch.Tensor) -> Any:
    import torch

    flat = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy()
