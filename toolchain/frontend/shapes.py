"""What PyTorch's fake kernels would assume in silence about extents: that an unknown one is not 1.

An extent of 1 broadcasts, and is dropped by ``squeeze``. Whether an unknown extent that meets a known one is 1 is a
decision. Two unknown extents that may or may not be equal are taken as equal, and the program checks it: with eager's
error where eager fails, with a refusal where eager would broadcast. ``squeeze`` is a decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend import torch_adapter
from toolchain.frontend.numbers import StagedBool

if TYPE_CHECKING:
    from toolchain.frontend.recorder import Recorder

_BROADCASTS = frozenset(("where", "masked_fill", "copy", "lerp", "addcmul", "addcdiv"))
_REFUSAL = "an extent that is only known at run time is 1 and would broadcast; that path is not compiled"


def before(recorder: Recorder, func: Any, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Settles what the result's shape depends on; returns the arguments with known extents of 1 made explicit.

    Raises RuntimeError, as eager does, for shapes that do not fit.
    """
    if torch.Tag.pointwise in func.tags or name in _BROADCASTS:
        _settle_broadcast(recorder, [a.shape for a in args if isinstance(a, torch.Tensor)])
        return tuple(_with_ones(recorder, a) if isinstance(a, torch.Tensor) else a for a in args)
    if name == "expand":
        _settle_expand(recorder, args[0].shape, tuple(args[1]))
        return (_with_ones(recorder, args[0]), *args[1:])
    if name == "squeeze":
        _settle_squeeze(args[0], args[1:])
    return args


def _with_ones(recorder: Recorder, tensor: torch.Tensor) -> torch.Tensor:
    """``tensor`` with the extents that this path knows to be 1 as constants: compilers take unknown ones for others."""
    for dim, extent in enumerate(tensor.shape):
        is_one = (
            isinstance(extent, torch.SymInt) and recorder.state.facts.constant(torch_adapter.expression(extent)) == 1
        )
        if is_one:
            chosen = recorder.apply(torch.ops.aten.select.int, tensor, dim, 0)
            tensor = recorder.apply(torch.ops.aten.unsqueeze.default, chosen, dim)
    return tensor


def _settle_broadcast(recorder: Recorder, shapes: list[Any]) -> None:
    if not any(isinstance(n, torch.SymInt) for shape in shapes for n in shape):
        return
    rank = max(len(s) for s in shapes)
    for back in range(1, rank + 1):
        common: Any = 1
        for extent in (s[-back] for s in shapes if len(s) >= back):
            common = _common(recorder, common, extent, rank - back)


def _common(recorder: Recorder, a: Any, b: Any, dim: int) -> Any:
    """The extent that ``a`` and ``b`` broadcast to."""
    if _truth(recorder, a == 1):
        return b
    if _truth(recorder, b == 1):
        return a
    equal = _truth(recorder, a == b)
    if equal is None and (isinstance(a, int) or isinstance(b, int)):
        if bool((b if isinstance(a, int) else a) == 1):
            return a if isinstance(a, int) else b
        equal = _truth(recorder, a == b)
    if equal is None:
        _require_equal(recorder, a, b, dim)
    elif not equal:
        if bool(a == 1):
            return b
        if bool(b == 1):
            return a
        raise RuntimeError(_mismatch(a, b, dim))
    return b if isinstance(a, torch.SymInt) else a


def _truth(recorder: Recorder, condition: Any) -> bool | None:
    """What the path knows, without deciding."""
    if not isinstance(condition, torch.SymBool):
        return bool(condition)
    return recorder.known(condition.node.expr)


def _require_equal(recorder: Recorder, a: Any, b: Any, dim: int) -> None:
    x, y = recorder.box(a) if isinstance(a, torch.SymInt) else a, recorder.box(b) if isinstance(b, torch.SymInt) else b
    equal = x == y
    if not isinstance(equal, StagedBool):
        if not equal:
            raise RuntimeError(_mismatch(a, b, dim))
        return
    recorder.require_staged_value(equal | (x == 1) | (y == 1), RuntimeError, _mismatch(a, b, dim))
    recorder.require_staged_value(equal, NotImplementedError, _REFUSAL)


def _mismatch(a: Any, b: Any, dim: int) -> str:
    sizes = " ".join(f"({n})" for n in (a, b) if not isinstance(n, torch.SymInt))
    return f"The size of tensor a must match the size of tensor b {sizes} at non-singleton dimension {dim}".replace(
        "  ", " "
    )


def _settle_expand(recorder: Recorder, shape: Any, sizes: tuple[Any, ...]) -> None:
    offset = len(sizes) - len(shape)
    for dim, extent in enumerate(shape):
        wanted = sizes[offset + dim]
        keeps = not isinstance(wanted, torch.SymInt) and wanted == -1
        if not keeps and (isinstance(extent, torch.SymInt) or isinstance(wanted, torch.SymInt)):
            known = _truth(recorder, extent == 1) or _truth(recorder, extent == wanted)
            if not known and isinstance(wanted, int):
                known = bool(extent == 1)
            if not known:
                _require_equal(recorder, extent, wanted, dim)


def _settle_squeeze(tensor: torch.Tensor, rest: tuple[Any, ...]) -> None:
    dims = range(tensor.dim()) if not rest else rest[0] if isinstance(rest[0], (tuple, list)) else (rest[0],)
    for dim in dims:
        if tensor.dim():
            bool(tensor.shape[dim] == 1)
