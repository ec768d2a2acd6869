"""Ranges of the elements of integer tensors: what needs no bounds check at run time."""

from __future__ import annotations

from typing import Any

import torch

from toolchain.frontend import torch_adapter
from toolchain.ir import Argument, Constant, Value, leaves

Range = tuple[int, int]

# Operations whose result holds elements of their first operand, rearranged or selected.
_SELECTS = frozenset(
    [
        "view", "_unsafe_view", "reshape", "select", "slice", "transpose", "permute", "unsqueeze", "squeeze", "expand",
        "t", "unbind", "split", "split_with_sizes", "chunk", "alias", "detach", "clone", "contiguous", "gather",
        "index", "index_select", "_reshape_alias", "_to_copy", "diagonal", "copy", "repeat", "flip", "roll",
        "lift_fresh_copy", "unfold", "as_strided", "amax", "amin", "sort", "narrow",
    ]
)  # fmt: skip
_INDEX_RESULTS = {"topk": 1, "sort": 1, "max": 1, "min": 1, "median": 1, "kthvalue": 1, "cummax": 1, "mode": 1}


class ElementRanges:
    """Knows, per value, the least and greatest element that an integer tensor can hold."""

    def __init__(self, constants: dict[str, torch.Tensor]) -> None:
        self._ranges: dict[int, Range] = {}
        self._constants = constants
        self._bounded: dict[int, object] = {}

    def bound(self, value: object, extent: object) -> None:
        """The elements of ``value`` are positions in a dimension of this (symbolic) extent."""
        if isinstance(value, Value):
            self._bounded[value.id] = extent

    def is_position(self, value: object, extent: object) -> bool:
        return isinstance(value, Value) and value.id in self._bounded and bool(self._bounded[value.id] == extent)

    def of(self, operand: object) -> Range | None:
        if isinstance(operand, Value):
            return self._ranges.get(operand.id)
        if isinstance(operand, Constant):
            tensor = self._constants[operand.name]
            if tensor.numel() and not tensor.is_floating_point() and not tensor.is_complex():
                with torch_adapter.real_mode():
                    return int(tensor.min()), int(tensor.max())
            return (0, 0) if not tensor.numel() else None
        if isinstance(operand, (bool, int)):
            return int(operand), int(operand)
        return None

    def give(self, value: Value, known: Range | None) -> None:
        if known is not None:
            self._ranges[value.id] = known

    def infer(
        self, target: str, args: tuple[Argument, ...], inputs: tuple[Any, ...], results: tuple[Value, ...]
    ) -> None:
        """Records what follows for an operation's ``results``; ``inputs`` are raw arguments (tensors with shapes)."""
        name = target.split(".")[1]
        if name in ("argmax", "argmin"):
            self.give(results[0], _extent_range(inputs[0], inputs[1] if len(inputs) > 1 else None))
        elif name in ("argsort",):
            self.give(results[0], _extent_range(inputs[0], -1))
        elif name == "nonzero":
            extents = [n for n in inputs[0].shape if not isinstance(n, torch.SymInt)]
            if len(extents) == inputs[0].dim():
                self.give(results[0], (0, max([*extents, 1]) - 1))
        elif name in _INDEX_RESULTS and len(results) == 2:
            dim = (
                inputs[2] if name in ("topk", "kthvalue") and len(inputs) > 2 else inputs[1] if len(inputs) > 1 else -1
            )
            self.give(results[1], _extent_range(inputs[0], -1 if name == "topk" and len(inputs) < 3 else dim))
            self.give(results[0], self.of(args[0]))
        elif name in ("cat", "stack", "where", "maximum", "minimum"):
            operands = args[1:] if name == "where" else list(leaves(args[0])) if name in ("cat", "stack") else args
            self.give(results[0], _union([self.of(a) for a in operands]))
        elif name in ("clamp", "remainder"):
            self._clamped(name, args, results[0])
        elif name in ("zeros", "zeros_like", "new_zeros"):
            self.give(results[0], (0, 0))
        elif name in ("ones", "ones_like", "new_ones"):
            self.give(results[0], (1, 1))
        elif name in ("full", "full_like", "new_full", "fill") and isinstance(args[1], int):
            self.give(results[0], (args[1], args[1]))
        elif name == "arange":
            self._arange(target, args, results[0])
        elif name in _SELECTS:
            for result in results:
                self.give(result, self.of(args[0]))

    def _clamped(self, name: str, args: tuple[Argument, ...], result: Value) -> None:
        if name == "remainder" and isinstance(args[1], int) and args[1] > 0:
            self.give(result, (0, args[1] - 1))
        if name == "clamp":
            old = self.of(args[0]) or (-(2**63), 2**63 - 1)
            low = args[1] if len(args) > 1 and isinstance(args[1], int) else old[0]
            high = args[2] if len(args) > 2 and isinstance(args[2], int) else old[1]
            self.give(result, (max(low, min(old[0], high)), min(high, max(old[1], low))))

    def _arange(self, target: str, args: tuple[Argument, ...], result: Value) -> None:
        if all(isinstance(a, int) for a in args) and args:
            low, high = (0, args[0]) if target == "aten.arange.default" else (args[0], args[1])
            self.give(result, (min(low, high), max(low, high - 1)))


def _extent_range(tensor: torch.Tensor, dim: int | None) -> Range | None:
    extent = tensor.numel() if dim is None else tensor.shape[dim] if tensor.dim() else 1
    return None if isinstance(extent, torch.SymInt) else (0, max(int(extent) - 1, 0))


def _union(parts: list[Range | None]) -> Range | None:
    known = [p for p in parts if p is not None]
    return (min(p[0] for p in known), max(p[1] for p in known)) if parts and len(known) == len(parts) else None
