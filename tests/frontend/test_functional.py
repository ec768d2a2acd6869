"""Views and in-place operations in any order: the functional program does what eager does."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.soundness.harness import check, refused

VIEWS = {
    "slice": lambda t: t[1:],
    "step": lambda t: t[::2],
    "select": lambda t: t[0],
    "last": lambda t: t.select(-1, -1),
    "transpose": lambda t: t.transpose(0, -1),
    "permute": lambda t: t.permute(*reversed(range(t.dim()))),
    "unsqueeze": lambda t: t.unsqueeze(0),
    "squeeze": lambda t: t.squeeze(),
    "flatten": lambda t: t.view(-1) if t.is_contiguous() else t.detach(),
    "unbind": lambda t: t.unbind(0)[-1],
    "split": lambda t: t.split(1)[0],
    "chunk": lambda t: t.chunk(2)[0],
    "detach": lambda t: t.detach(),
    "narrow": lambda t: t.narrow(0, 0, 1),
    "diagonal": lambda t: t.diagonal() if t.dim() == 2 else t.detach(),
}
CHANGES = {
    "add": lambda t: t.add_(1),
    "mul": lambda t: t.mul_(-2),
    "zero": lambda t: t.zero_(),
    "fill": lambda t: t.fill_(3),
    "copy": lambda t: t.copy_(t.flip(0) if t.dim() else t * 2),
    "relu": lambda t: torch.relu_(t),
    "clamp": lambda t: t.clamp_(max=0.5),
    "masked": lambda t: t.masked_fill_(t > 0, -1.0),
    "item": lambda t: t.__setitem__((Ellipsis, 0), 7) if t.dim() else t.add_(7),
    "power": lambda t: t.pow_(2),
    "operator": lambda t: t.__iadd__(t),
}
STEPS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(sorted(VIEWS)), st.integers(0, 3), st.sampled_from(sorted(CHANGES))),
    max_size=5,
)


def _make(steps, is_split):
    """A program that makes a view of a tensor it has and changes one that it has, over and over."""

    def program(x):
        known = [x, x.clone()]
        for source, view, target, change in steps:
            base = known[source % len(known)]
            known.append(VIEWS[view](base) if base.dim() else base)
            chosen = known[target % len(known)]
            if not is_split or x.sum() > 0:
                CHANGES[change](chosen)
        return known

    return program


@pytest.mark.parametrize("is_split", [False, True])
@given(steps=STEPS)
@example(steps=[(0, "permute", 2, "masked"), (0, "flatten", 0, "add")])
@settings(max_examples=25, deadline=None)
def test_views_and_changes(is_split, steps):
    generator = torch.Generator().manual_seed(len(steps))
    inputs = [(torch.randn(2, 3, generator=generator),) for _ in range(3)]
    check(_make(steps, is_split), inputs, "any")


@pytest.mark.parametrize("view", sorted(VIEWS))
@pytest.mark.parametrize("change", ["add", "item"])
def test_each_view_passes_changes_to_its_base(view, change):
    def program(x):
        base = x * 1
        part = VIEWS[view](base)
        CHANGES[change](part)
        return base, part

    check(program, [(torch.arange(6.0).view(2, 3),)])


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_each_change_in_a_branch(change):
    def program(x):
        row = x[0]
        if x.sum() > 0:
            CHANGES[change](row)
        return x * 2, row

    check(program, [(torch.ones(2, 3),), (-torch.ones(2, 3),)])


@pytest.mark.parametrize("method", ["t_", "squeeze_", "unsqueeze_", "resize_", "transpose_"])
def test_changes_of_shape_in_place_are_refused(method):
    arguments = {"unsqueeze_": (0,), "resize_": (1, 2), "transpose_": (0, 1)}.get(method, ())
    refused(lambda x: getattr(x, method)(*arguments), [(torch.ones(2, 2),)], "TC141")


def test_assigning_data_is_refused():
    def program(x):
        x.data = x * 2
        return x

    refused(program, [(torch.ones(2),)], "TC145")


def test_memory_shared_between_buffers_is_refused():
    base = torch.zeros(4)

    class Shared(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", base[:2])
            self.register_buffer("b", base[1:])

        def forward(self, x):
            self.a.add_(x)
            return self.b * 1

    refused(Shared(), [(torch.ones(2),)], "TC143")
