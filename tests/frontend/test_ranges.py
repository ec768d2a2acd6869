"""Ranges of the elements of integer tensors, against the elements themselves."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from toolchain.frontend.ranges import ElementRanges
from toolchain.ir import Constant, TensorType, Value, map_argument

PROGRAMS = {
    "argmax": lambda t: t.argmax(1),
    "argsort": lambda t: t.argsort(0),
    "topk": lambda t: t.topk(2, 1)[1],
    "max": lambda t: t.max(0)[1],
    "nonzero": lambda t: t.nonzero(),
    "clamp": lambda t: t.argmax(1).clamp(1, 2),
    "remainder": lambda t: t.argmax(1).remainder(3),
    "cat": lambda t: torch.cat([t.argmax(1), t.argmin(1)]),
    "where": lambda t: torch.where(t[:, 0] > 0, t.argmax(1), t.argmin(1)),
    "arange": lambda t: torch.arange(2, 7),
    "views": lambda t: t.argmax(1).unsqueeze(0).expand(2, 4).reshape(8)[1:].flip(0),
    "zeros": lambda t: torch.zeros(3, dtype=torch.int64),
    "full": lambda t: torch.full((3,), -7),
}
KNOWN = {
    "argmax": (0, 4),
    "argsort": (0, 3),
    "topk": (0, 4),
    "max": (0, 3),
    "nonzero": (0, 4),
    "clamp": (1, 2),
    "remainder": (0, 2),
    "cat": (0, 4),
    "where": (0, 4),
    "arange": (2, 6),
    "views": (0, 4),
    "zeros": (0, 0),
    "full": (-7, -7),
}


class _Watch(TorchDispatchMode):
    """Feeds every operation to the analysis, and keeps the value of its results."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges = ElementRanges({})
        self.values = {}
        self.kept = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        outputs = [out] if isinstance(out, torch.Tensor) else list(out)
        results = tuple(self._new(o) for o in outputs)
        encoded = map_argument(args, lambda a: self.values.get(id(a), a) if isinstance(a, torch.Tensor) else a)
        self.ranges.infer(f"aten.{func._schema.name.split('::')[1]}.{func._overloadname}", encoded, args, results)
        return out

    def _new(self, tensor):
        self.kept.append(tensor)
        value = Value(len(self.kept), TensorType(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape)))
        self.values[id(tensor)] = value
        return value


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_ranges(name):
    with _Watch() as watch:
        result = PROGRAMS[name](torch.randn(4, 5))
    low, high = watch.ranges.of(watch.values[id(result)])
    assert (low, high) == KNOWN[name]
    assert low <= int(result.min())
    assert int(result.max()) <= high


def test_constants_and_numbers():
    ranges = ElementRanges(
        {"ids": torch.tensor([3, -1, 7]), "none": torch.zeros(0, dtype=torch.int64), "w": torch.ones(2)}
    )
    assert ranges.of(Constant("ids", TensorType("int64", (3,)))) == (-1, 7)
    assert ranges.of(Constant("none", TensorType("int64", (0,)))) == (0, 0)
    assert ranges.of(Constant("w", TensorType("float32", (2,)))) is None
    assert ranges.of(5) == (5, 5)
    assert ranges.of(1.5) is None


def test_nothing_is_known_of_an_input():
    assert ElementRanges({}).of(Value(1, TensorType("int64", (2,)))) is None
