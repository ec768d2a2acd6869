"""Rule P: NumPy on tensor data means what NumPy means: dtypes, shared memory, scalars that are no arrays."""

from __future__ import annotations

import numpy as np
import torch

from tests.soundness.harness import check, randn, refused


def test_a_branch_on_numpy_scalars():
    def program(x):
        a = x.numpy()
        low, high = np.percentile(a, [10, 90])
        if high - low > 2.0:
            return torch.from_numpy(np.clip(a, low, high).astype(np.float32)), "clipped"
        return x, float(a.std())

    check(program, randn(3, 4, count=12))


def test_what_numpy_writes_shows_in_the_tensor():
    def program(x):
        h = x * 2
        a = h.detach().numpy()
        if a.max() > 1:
            np.clip(a, -1.0, 1.0, out=a)
        a[0] = 7
        a += 1
        return h, a.shape, len(a)

    check(program, randn(3, 2))


def test_scalars_are_copies():
    def program(x):
        a = (x + 0).numpy()
        first = a[0]
        row = a[1:]
        a[0] = 5.0
        a[1] = 6.0
        return float(first), torch.from_numpy(row)

    check(program, randn(3))


def test_copies_and_views():
    def program(x):
        a = (x + 0).numpy()
        flat, ravelled, typed = a.flatten(), a.ravel(), a.astype(np.float32)
        a[0, 0] = 9.0
        return torch.from_numpy(flat), torch.from_numpy(ravelled), torch.from_numpy(typed), torch.as_tensor(a.T)

    check(program, randn(2, 3))


def test_positions_decide_the_path():
    def program(x):
        a = x.numpy()
        peaks = np.flatnonzero(np.diff(a.mean(axis=1)) > 0.5)
        if peaks.size:
            return x.index_fill(0, torch.from_numpy(peaks), 1.0), peaks.tolist()
        return torch.as_tensor(np.cumsum(a, axis=0).astype(np.float32)), []

    check(program, randn(4, 3, count=10))


def test_the_best_of_a_list_of_scores():
    def program(x):
        scores = [row.max().item() for row in x]
        best = np.argmax(scores)
        layers = [x[0], x[1] * 2, x[2] * 3]
        return layers[best], int(np.argmin([row.sum() for row in x]))

    check(program, randn(3, 4, count=10))


def test_lengths_of_sequences():
    def program(x, lengths):
        n = lengths.cpu().numpy()
        if (n == n[0]).all() and n[0] == x.shape[1]:
            return x
        return x[:, : int(n.max())], [int(k) for k in n]

    calls = [(torch.ones(2, 5), torch.tensor(n)) for n in ([5, 5], [3, 3], [2, 4])]
    check(program, calls)


def test_integers_divide_to_doubles():
    def program(x):
        a = x.numpy()
        return torch.from_numpy(a / 2), torch.from_numpy(a / a.max()), torch.from_numpy(a * 2.5), a.dtype == np.int64

    check(program, [(torch.tensor([2**40 + 1, 3]),), (torch.tensor([5, 2**50 + 3]),)])


def test_paths_that_meet():
    def program(x):
        a = (x + 1).numpy()
        if a[0] > 1:
            a = a * 2
        return torch.from_numpy(a), isinstance(a, np.ndarray), isinstance(a[0], np.float32), type(a.sum()) is np.float32

    check(program, randn(3))


def test_several_elements_have_no_truth():
    def program(x):
        try:
            return 1 if x.numpy() > 0 else 2
        except ValueError:
            return 3

    check(program, randn(3))


def test_what_has_no_counterpart_is_refused():
    def program(x):
        return torch.from_numpy(np.unique(x.numpy()))

    refused(program, randn(3), "TC161")


def test_indices_that_pytorch_reads_differently():
    def program(x):
        return torch.from_numpy(x.numpy()[::-1].copy())

    refused(program, randn(3), "TC161")
