"""Rule N: what results, modes, constants and classes at the border mean."""

from __future__ import annotations

import dataclasses
from collections import namedtuple

import numpy as np
import torch
from torch import nn

from tests.soundness.harness import check, randn, refused
from toolchain.frontend import Call, Dynamic, explore

Pair = namedtuple("Pair", "tensor count")


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    depth: int = 3


def test_named_tuples_and_dataclasses():
    check(lambda x: Pair(x, 1)._replace(count=2) if x[0] > 0 else Pair(x * 2, 1), randn(3))

    def program(x):
        out = Output(x)
        if x[0] > 0:
            out.depth = 7
            out.logits = x * 2
        return out

    check(program, randn(3))


def test_nested_structures():
    def program(x):
        d = {"a": [x, (x * 2, None)], "b": {"n": 3}}
        if x[0] > 0:
            d["b"]["n"] = 4
        return d, x.shape

    check(program, randn(3))


def test_python_leaves_are_constants_of_an_entry():
    def program(x, mode, n):
        return x * n if mode == "scale" else x + n

    inputs = [(x, mode, n) for (x,) in randn(3, count=2) for mode in ("scale", "shift") for n in (1, 2)]
    explored = check(program, inputs)
    assert explored is not None
    assert len(explored.entries) == 4


def test_dynamic_leaves_are_inputs():
    def program(x, n):
        for _ in range(n):
            x = x * 2 if x.sum() > 0 else x + 1
        return x, n

    inputs = [(x, Dynamic(n)) for (x,) in randn(3, count=3) for n in (0, 1, 4)]
    explored = check(program, inputs)
    assert explored is not None
    assert len(explored.entries) == 1


def test_optional_arguments_are_entries():
    def program(x, mask):
        return x if mask is None else x * mask

    inputs = [(torch.ones(3), None), (torch.ones(3), torch.zeros(3))]
    explored = check(program, inputs)
    assert explored is not None
    assert len(explored.entries) == 2


def test_containers_as_arguments():
    def program(pair, options):
        a, b = pair
        return a + b if options["add"] and a.sum() > 0 else a - b

    check(program, [((x, x * 2), {"add": True}) for (x,) in randn(3)])


def test_inference_and_grad_modes_are_as_at_build():
    @torch.inference_mode()
    def program(x):
        with torch.enable_grad():
            y = x * 2 if x.sum() > 0 else x
        return y

    check(program, randn(3))


def test_containers_of_modules():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
            self.many = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
            self.named = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Tanh()})

        def forward(self, x):
            x = self.first(x)
            for layer in self.many:
                if x.mean() > 0:
                    x = layer(x)
            for name, layer in self.named.items():
                if x.sum() < 0 or name == "b":
                    x = layer(x)
            return x

    check(Net(), randn(2, 4))


def test_inheritance():
    class Base(nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > 0 else x

    class Derived(Base):
        def forward(self, x):
            return super().forward(x) + 1

    check(Derived(), randn(3))


def test_results_that_cannot_leave_are_refused():
    refused(lambda x: (v for v in x), randn(3), "TC170")


def test_refusals_name_the_line_of_the_user():
    def program(x):
        y = x + 1
        return np.unique(y.numpy())

    refusal = refused(program, randn(3), "TC161")
    [problem] = refusal.problems
    assert problem.line == program.__code__.co_firstlineno + 2
    assert problem.file == __file__
    assert problem.hint


def test_examples_do_not_change():
    x = torch.ones(3)
    explore(lambda x: x.add_(1), [Call((x,), {})])
    assert x.tolist() == [1.0, 1.0, 1.0]
