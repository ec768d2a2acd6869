"""How far the comparisons behind a decision were from coming out the other way.

A dispatch mode above real tensors. The result of a comparison of floating-point tensors carries one margin per element,
the distance of the operands relative to the larger of them and 1; logic, reductions and selections of such results
carry margins on. The index that argmax, max or topk returns carries the gap to the runner-up. Integers are exact: they
have no margin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_EQUALITIES = frozenset(("eq", "ne"))
_COMPARISONS = frozenset(("lt", "le", "gt", "ge")) | _EQUALITIES
_LOGIC = frozenset(("logical_and", "bitwise_and", "__and__", "logical_or", "bitwise_or", "__or__"))


class Margins(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While it is active, ``margin_of`` knows the tensors that comparisons make."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func._schema.name.split("::")[1].rstrip("_")
        rule = _RULES.get(name, _carry)
        rule(name, out, args, kwargs or {})
        return out


def margin_of(tensor: torch.Tensor) -> float:
    """The least margin of an element; infinite when no comparison made it."""
    margins = _margins(tensor)
    return math.inf if margins is None or not margins.numel() else float(margins.min())


def relative_margin(left: float, right: float, is_equality: bool = False) -> float:
    """The margin of a comparison of two numbers. Equality of equal floats is taken to be no accident."""
    if left == right:
        return math.inf if is_equality else 0.0
    distance = abs(left - right) / max(abs(left), abs(right), 1.0)
    return math.inf if math.isnan(distance) else distance


def _margins(tensor: object) -> torch.Tensor | None:
    return getattr(tensor, "_toolchain_margins", None) if isinstance(tensor, torch.Tensor) else None


def _attach(out: torch.Tensor, margins: torch.Tensor | None) -> None:
    if margins is not None:
        out._toolchain_margins = margins  # type: ignore[attr-defined]


def _is_discrete(tensor: object) -> bool:
    return isinstance(tensor, torch.Tensor) and not tensor.is_floating_point() and not tensor.is_complex()


def _compare(name: str, out: torch.Tensor, args: Any, kwargs: Any) -> None:
    if not any(isinstance(a, float) or (isinstance(a, torch.Tensor) and a.is_floating_point()) for a in args[:2]):
        _carry(name, out, args, kwargs)
        return
    left, right = (torch.as_tensor(a).double() for a in args[:2])
    scale = torch.maximum(left.abs(), right.abs()).clamp(min=1.0)
    distance = ((left - right).abs() / scale).nan_to_num(nan=math.inf, posinf=math.inf)
    if name in _EQUALITIES:
        distance = torch.where(left == right, math.inf, distance)
    for margins in map(_margins, args[:2]):
        distance = distance if margins is None else torch.minimum(distance, margins)
    _attach(out, distance)


def _logic(name: str, out: torch.Tensor, args: Any, kwargs: Any) -> None:
    if not all(isinstance(a, torch.Tensor) and a.dtype == torch.bool for a in args[:2]):
        _carry(name, out, args, kwargs)
        return
    known = [(a, m if (m := _margins(a)) is not None else torch.tensor(math.inf).double()) for a in args[:2]]
    if all(_margins(a) is None for a in args[:2]):
        return
    deciding = "or" in name  # one operand of this value settles the result
    (a, left), (b, right) = known
    settles = torch.maximum(torch.where(a == deciding, left, 0.0), torch.where(b == deciding, right, 0.0))
    _attach(out, torch.where(out == deciding, settles, torch.minimum(left, right)))


def _reduce(name: str, out: torch.Tensor, args: Any, kwargs: Any) -> None:
    """``any`` and ``all``: where an element settles the result, the one that is hardest to flip counts."""
    margins = _margins(args[0])
    if margins is None or not args[0].numel():
        return
    dims = args[1] if len(args) > 1 and args[1] is not None else list(range(args[0].dim()))
    keep = bool(args[2]) if len(args) > 2 else False
    deciding = name == "any"
    values = args[0].bool()
    margins = margins.broadcast_to(values.shape)
    settles = torch.where(values == deciding, margins, 0.0).amax(dims, keep)
    _attach(out, torch.where(out.bool() == deciding, settles, margins.amin(dims, keep)))


def _gap(source: torch.Tensor, dim: int | None, count: int, largest: bool) -> torch.Tensor | None:
    """How near the first ``count`` elements of ``source`` are to changing places, or to giving way to the next one."""
    if not isinstance(source, torch.Tensor) or not source.is_floating_point() or not source.numel():
        return None
    values = source.double().flatten() if dim is None or not source.dim() else source.double().movedim(dim, -1)
    count = min(count + 1, values.shape[-1])
    if count < 2:
        return None
    ordered = torch.topk(values, count, dim=-1, largest=largest).values
    left, right = ordered[..., :-1], ordered[..., 1:]
    scale = torch.maximum(left.abs(), right.abs()).clamp(min=1.0)
    return ((left - right).abs() / scale).nan_to_num(nan=math.inf).amin(-1)


def _index(name: str, out: Any, args: Any, kwargs: Any) -> None:
    """The index results of argmax, max, topk and their kin."""
    indices = out if isinstance(out, torch.Tensor) else out[1] if len(out) > 1 else None
    if indices is None or not _is_discrete(indices) or (len(args) < 2 and name in ("max", "min")):
        return
    if name == "topk":
        dim, count, largest = args[2] if len(args) > 2 else -1, args[1], args[3] if len(args) > 3 else True
    elif name in ("sort", "argsort"):
        dim = args[1] if len(args) > 1 and type(args[1]) is int else -1
        count, largest = args[0].shape[dim] if args[0].dim() else 1, False
    else:
        dim, count, largest = args[1] if len(args) > 1 else None, 1, name.endswith("max")
    gap = _gap(args[0], dim, count, largest)
    _attach(indices, None if gap is None else gap.min())


def _select(name: str, out: torch.Tensor, args: Any, kwargs: Any) -> None:
    """One slice of the elements, with its own margins; reading elements one by one comes to this."""
    margins = _margins(args[0])
    if margins is not None and margins.shape == args[0].shape:
        _attach(out, margins.select(*args[1:3]))
    else:
        _carry(name, out, args, kwargs)


def _convert(name: str, out: torch.Tensor, args: Any, kwargs: Any) -> None:
    """A mask as numbers of another type: what is asked of them later is still asked of the mask."""
    _attach(out, _margins(args[0]))


def _carry(name: str, out: Any, args: Any, kwargs: Any) -> None:
    """Any other integer or bool made from such results: as near to changing as the nearest of them."""
    found: list[torch.Tensor] = [m for a in args if (m := _margins(a)) is not None and m.numel()]
    if found:
        nearest = torch.stack([m.min() for m in found]).min()
        for part in (out,) if isinstance(out, torch.Tensor) else out if isinstance(out, (tuple, list)) else ():
            if _is_discrete(part):
                _attach(part, nearest)


_RULES: dict[str, Callable[[str, Any, Any, Any], None]] = {
    **dict.fromkeys(_COMPARISONS, _compare),
    **dict.fromkeys(_LOGIC, _logic),
    **dict.fromkeys(("any", "all"), _reduce),
    "select": _select,
    "_to_copy": _convert,
    **dict.fromkeys(("argmax", "argmin", "max", "min", "topk", "sort", "argsort"), _index),
}
