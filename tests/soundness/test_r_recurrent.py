"""Rule R: recurrent layers over lengths of run time are loops, packed sequences included."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.soundness.harness import check


class Recurrent(nn.Module):
    def __init__(self, layer, packed, **options):
        super().__init__()
        torch.manual_seed(0)
        self.layer = layer(3, 4, batch_first=True, **options)
        self.packed = packed

    def forward(self, x, lengths):
        if self.packed:
            x = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        y, state = self.layer(x)
        if self.packed:
            y, _ = pad_packed_sequence(y, batch_first=True, padding_value=-1.0)
        return y, state


def _calls():
    generator = torch.Generator().manual_seed(0)
    for lengths in ([5, 3], [2, 6, 4], [1, 1], [4]):
        time = max(lengths) + len(lengths) % 2
        yield torch.randn(len(lengths), time, 3, generator=generator), torch.tensor(lengths)


@pytest.mark.parametrize(("layer", "packed"), [(nn.GRU, False), (nn.LSTM, True), (nn.RNN, True)])
def test_one_layer(layer, packed):
    check(Recurrent(layer, packed), list(_calls()))


def test_two_layers_in_both_directions():
    check(Recurrent(nn.GRU, True, num_layers=2, bidirectional=True), list(_calls()))


def test_without_bias_and_with_a_start():
    class Started(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.LSTM(3, 4, bias=False)

        def forward(self, x):
            start = torch.ones(1, x.shape[1], 4)
            return self.layer(x, (start, start * 2))

    check(Started(), [(torch.randn(t, b, 3),) for t, b in ((3, 2), (1, 1), (4, 3))])


def test_lengths_that_do_not_fit():
    class Sorted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.GRU(3, 4)

        def forward(self, x, lengths):
            y, _ = self.layer(pack_padded_sequence(x, lengths))
            return pad_packed_sequence(y, total_length=x.shape[0])

    calls = [(torch.ones(4, 2, 3), torch.tensor(n)) for n in ([4, 2], [2, 3], [3, 0], [3, 3])]
    check(Sorted(), calls)


@pytest.mark.parametrize("cell", [nn.GRUCell, nn.LSTMCell, nn.RNNCell])
def test_cells_of_a_batch_of_unknown_size(cell):
    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.cell = cell(3, 4)

        def forward(self, x):
            kept = x[torch.where(x[:, 0] > 0)[0]]
            return self.cell(kept, self.cell(kept))

    generator = torch.Generator().manual_seed(0)
    check(Kept(), [(torch.randn(n, 3, generator=generator),) for n in (4, 2, 1, 5)])
