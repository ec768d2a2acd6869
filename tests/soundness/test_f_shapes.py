"""Rule F: an unknown extent makes no silent choice."""

from __future__ import annotations

import torch

from tests.soundness.harness import check, randint, randn


def _sizes(*sizes, width=()):
    generator = torch.Generator().manual_seed(0)
    return [(torch.randn(n, *width, generator=generator),) for n in sizes]


def test_comparisons_of_an_extent():
    check(lambda x: x[:4] if x.shape[0] > 4 else x * 2, _sizes(2, 3, 5, 6, 0, 1))


def test_sizes_zero_and_one():
    def program(x):
        if x.shape[0] == 0:
            return x
        return x.sum(0, keepdim=True) if len(x) > 1 else x - 1

    check(program, _sizes(0, 1, 2, 5))


def test_squeeze_of_an_unknown_extent():
    check(lambda x: x.squeeze(0), _sizes(1, 2, 3, width=(3,)), "any")
    check(lambda x: x.squeeze(), _sizes(1, 2, 3, width=(3,)), "any")


def test_two_inputs_of_equal_example_sizes_may_differ():
    generator = torch.Generator().manual_seed(0)
    pairs = [
        (torch.randn(n, generator=generator), torch.randn(m, generator=generator)) for n, m in ((2, 2), (3, 3), (4, 4))
    ]
    check(lambda x, y: torch.cat([x, y]), [*pairs, (torch.randn(2), torch.randn(5))], examples=3)


def test_broadcasting_with_an_unknown_extent():
    check(lambda x: x + torch.ones(3, 4), _sizes(1, 3, width=(4,)), torch_texts=True)


def test_nonzero_does_not_get_the_size_of_its_neighbour():
    check(lambda x: torch.nonzero(x > 0).flatten() + torch.zeros(4), randn(4, count=16), torch_texts=True)


def test_nonzero_loops_and_masks():
    def program(x):
        picked = x[x > 0]
        total = 0.0
        for row in torch.nonzero(x > 0).flatten():
            total = total + x[row] * 2
        y = x.clone()
        y[y < 0] = 0
        return picked, total, y, picked.shape[0]

    check(program, randn(5, count=12))


def test_sizes_read_from_elements():
    def program(x):
        n = x[0].item()
        return (
            torch.zeros(n),
            torch.ones(n, 2).sum(0),
            torch.arange(n),
            torch.full((n,), n),
            x.repeat(n),
            x.float().expand(n, 2).sum(),
        )

    check(program, randint(0, 5, 2, count=10))


def test_a_growing_tensor():
    def program(x):
        y = x[:0]
        while y.shape[0] < 9 and x.sum() < 30:
            y = torch.cat([y, x])
            x = x + 1
        return y, y.shape[0]

    check(program, randn(4))


def test_reductions_of_what_may_be_empty():
    def program(x):
        y = x[x > 1]
        return y.sum(), y.mean(), y.prod(), y.max() if len(y) else None

    check(program, randn(4, count=12))


def test_reshapes_with_an_unknown_extent():
    check(lambda x: (x.view(-1, 2), x.flatten(), x.unsqueeze(0).shape, x.t()), _sizes(2, 4, 6, width=(4,)))


def test_stacking_and_splitting():
    check(lambda x: (torch.stack([x, x]), x.chunk(2, dim=1), x.unbind(1)), _sizes(1, 2, 3, width=(4,)))
