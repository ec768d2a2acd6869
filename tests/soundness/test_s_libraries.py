"""Rule S: what large libraries of models do around their tensors."""

from __future__ import annotations

import contextvars
import dataclasses
from collections import OrderedDict
from typing import Any

import torch
from torch import nn

from tests.soundness.harness import check, randn
from toolchain.ir import Branch, Program, TensorOp

MODE: contextvars.ContextVar[str] = contextvars.ContextVar("mode", default="plain")
SEEN: contextvars.ContextVar[Any] = contextvars.ContextVar("seen")


def _branches(program: Program | None) -> int:
    assert program is not None
    return sum(isinstance(b.terminator, Branch) for f in program.functions for b in f.blocks)


def _rows(*sizes: int, width: int = 3) -> list[tuple[torch.Tensor]]:
    generator = torch.Generator().manual_seed(0)
    return [(torch.randn(n, width, generator=generator),) for n in sizes]


# ---- classes


class _Base:
    def __init__(self, scale: float) -> None:
        self.scale = scale


class _Derived(_Base):
    def __init__(self, x: torch.Tensor) -> None:
        scale = 1.0
        if x.sum() > 0:
            scale = 2.0
        super().__init__(scale)


def test_super_after_paths_have_met():
    check(lambda x: x * _Derived(x).scale, randn(3))


class _Wrapped(nn.Module):
    """A layer that does something around its call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return super().__call__(*args, **kwargs)

    def forward(self, x: torch.Tensor, keep: bool = False) -> torch.Tensor:
        several = x.shape[0] > 1 and not keep
        return x.sum(0, keepdim=several) * len(x)


def test_modules_that_wrap_their_call():
    check(_Wrapped(), _rows(1, 3, 2, 1))


@dataclasses.dataclass
class _Record(OrderedDict):  # type: ignore[type-arg]
    """A record that is a dict of those of its fields that are not None."""

    logits: Any = None
    count: Any = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "count" and value is not None and value > 3:
            value = -value
        super().__setattr__(name, value)
        if value is not None:
            super().__setitem__(name, value)


def test_records_that_are_dicts():
    def program(x):
        record = _Record(logits=x, count=(x > 0).sum().item())
        if x[0] > 0:
            record.count = len(record)
        else:
            setattr(record, "count", (x < 0).sum().item())  # noqa: B010 - the builtin, on purpose
        return record["logits"] * record.count, list(record)

    check(program, randn(6, count=16))


class _Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value * 2 if name == "total" else value)

    def forward(self, x: torch.Tensor) -> Any:
        self.total = int(x[0].abs() * 10)
        return x * self.total


def test_modules_that_watch_their_attributes():
    check(_Counter(), randn(3))


# ---- context variables


def test_a_context_variable_that_is_set_around_a_decision():
    def program(x):
        token = MODE.set("double")
        try:
            y = x * 2 if x[0] > 0 and MODE.get() == "double" else x + 1
        finally:
            MODE.reset(token)
        return y, MODE.get(), SEEN.get(7)

    check(program, randn(3))


def test_context_variables_keep_what_a_path_set():
    def program(x):
        if x[0] > 0:
            SEEN.set(x.sum())
            MODE.set("seen")
        y = x + 1 if x[1] > 0 else x
        return y + SEEN.get() if MODE.get() == "seen" else y

    calls = [(-torch.ones(3),), (torch.ones(3),), (-torch.ones(3),)]
    contextvars.copy_context().run(check, program, calls)  # eager sets them for good


def test_a_token_of_a_context_variable_is_used_once():
    def program(x):
        token = MODE.set("a")
        MODE.reset(token)
        if x[0] > 0:
            MODE.reset(token)
        return x

    check(program, randn(3), torch_texts=True)


# ---- extents that are equal on all paths


def test_paths_that_met_agree_about_extents():
    """A decision about an extent leaves the same extent on both ways: later operations need no check."""

    def program(x):
        y = x * 2 if x.shape[0] > 1 else x + 1
        return x + y

    explored = check(program, _rows(1, 2, 3))
    assert _branches(explored) == 1


def test_tensors_that_grow_together_stay_of_one_length():
    """Keys and values of a cache grow in step: nothing has to find that out at run time."""

    def program(x, limit):
        keys, values, steps, row = x, x * 2, 0, torch.ones(1, 3)
        while keys.sum() < limit:
            keys, values = torch.cat([keys, row]), torch.cat([values, row * 2])
            steps += 1
        try:
            return keys + values, steps
        except RuntimeError:
            return x, -1

    limits = (5.0, 30.0, 0.0)
    explored = check(program, [(x.abs(), torch.tensor(n)) for (x,), n in zip(_rows(1, 2, 4), limits, strict=True)])
    assert _branches(explored) == 2  # the loop, entered and left


# ---- generators in calls


def test_generators_as_arguments():
    def total(*values, scale=1.0):
        return sum(values) * scale

    def program(x):
        if x[0] > 0:
            return total(*(v * 2 for v in x), scale=2.0), ".".join(map(str, (1, 2))), total(*map(abs, x.tolist()))
        return total(*(v for v in x)), "-".join(str(n) for n in range(2)), total(*reversed(x.tolist()))

    check(program, randn(3))


def test_reshapes_beside_unknown_sizes_state_all_of_theirs():
    """A compiler would ask whether the unknown ones may be 0."""
    explored = check(lambda x: x.view(x.shape[0], 3, -1).reshape(x.shape[0], -1), _rows(1, 2, 5, width=6))
    assert explored is not None
    shapes = [
        op.args[1] for f in explored.functions for b in f.blocks for op in b.operations if isinstance(op, TensorOp)
    ]
    assert [shape[1:] for shape in shapes] == [(3, 2), (6,)]
