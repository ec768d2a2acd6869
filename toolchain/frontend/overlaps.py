"""What eager refuses because a tensor that is written and one that is read share memory.

PyTorch refuses when the two overlap in part, as far as it can tell (``at::assert_no_partial_overlap``, which operations
call or leave out). The functional form of the operation would never notice, so eager itself is asked, with tensors that
lie in memory as those of the program do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

if TYPE_CHECKING:
    from toolchain.frontend.recorder import Recorder

_REFUSAL = "single memory location"
_MOST_ELEMENTS = 1 << 24


def check_overlap(recorder: Recorder, func: Any, target: torch.Tensor, args: Any, kwargs: Any) -> None:
    """Raises eager's RuntimeError if ``func``, which writes ``target``, would.

    Nothing is known, and nothing raised, where a shape is only known at run time.
    """
    storage = recorder.view_of(target).storage
    tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    shared = [t for t in tensors if recorder.view_of(t).storage is storage]
    if all(t is target for t in shared) or not all(map(_is_placed, tensors)):
        return
    size = max(_end(t) for t in shared)
    if size > _MOST_ELEMENTS or any(t.dtype != target.dtype for t in shared):
        return
    with _disable_current_modes():
        memory = torch.zeros(size, dtype=target.dtype)
        alike = {
            id(t): memory.as_strided(t.shape, t.stride(), t.storage_offset())
            if any(t is s for s in shared)
            else torch.zeros(t.shape, dtype=t.dtype)
            for t in tensors
        }
        args, kwargs = pytree.tree_map(lambda leaf: alike.get(id(leaf), leaf), (args, kwargs))
        try:
            func(*args, **kwargs)
        except RuntimeError as error:
            if _REFUSAL in str(error):
                raise


def _is_placed(tensor: torch.Tensor) -> bool:
    numbers = (*tensor.shape, *tensor.stride(), tensor.storage_offset())
    return all(isinstance(n, int) for n in numbers)


def _end(tensor: torch.Tensor) -> int:
    """The number of elements of the storage up to the last one of ``tensor``."""
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return int(tensor.storage_offset() + last + 1) if tensor.numel() else 0
