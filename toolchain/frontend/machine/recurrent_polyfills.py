"""Recurrent layers over sequences whose length is only known at run time, in Python: a loop over time. And recurrent
cells of a batch that is only known at run time, which PyTorch's own reads as a constant.

A packed sequence keeps its padded tensor and the lengths: what is behind the end of a sequence changes no state, and
its output is zero, so neither sorting nor packing is needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import torch
from torch import nn
from torch.nn import functional

from toolchain.frontend.signals import Unsupported


class Packed(NamedTuple):
    """Stands for a ``PackedSequence``. padded: [time, batch, ...]; lengths: int64 [batch]."""

    padded: torch.Tensor
    lengths: torch.Tensor

    @property
    def data(self) -> NoReturn:
        raise Unsupported("TC120", "the layout of a packed sequence", "use pad_packed_sequence()")

    @property
    def batch_sizes(self) -> NoReturn:
        raise Unsupported("TC120", "the layout of a packed sequence", "use pad_packed_sequence()")


def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> Any:
    lengths = torch.as_tensor(lengths, dtype=torch.int64)
    padded = input.transpose(0, 1) if batch_first else input
    if enforce_sorted and (lengths[:-1] < lengths[1:]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    if (lengths <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (lengths > padded.shape[0]).any():
        raise RuntimeError("start + length exceeds dimension size.")
    return Packed(padded[: int(lengths.max())], lengths)


def pad_packed_sequence(
    sequence: Any, batch_first: bool = False, padding_value: float = 0.0, total_length: Any = None
) -> Any:
    padded, lengths = sequence
    live = _live(padded, lengths)
    while live.dim() < padded.dim():
        live = live.unsqueeze(-1)
    out = padded.masked_fill(~live, padding_value)
    if total_length is not None:
        if total_length < out.shape[0]:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {out.shape[0]}"
            )
        rest = out.new_full((total_length - out.shape[0], *out.shape[1:]), padding_value)
        out = torch.cat([out, rest])
    return (out.transpose(0, 1) if batch_first else out), lengths


def _live(padded: Any, lengths: Any) -> Any:
    return torch.arange(padded.shape[0]).unsqueeze(1) < lengths.unsqueeze(0)


def run_layers(module: Any, input: Any, hx: Any = None) -> Any:
    """``module(input, hx)`` of an ``nn.RNN``, ``nn.GRU`` or ``nn.LSTM``."""
    is_packed = isinstance(input, Packed)
    x = input.padded if is_packed else input
    is_batched = x.dim() == 3
    if not is_packed and is_batched and module.batch_first:
        x = x.transpose(0, 1)
    if not is_batched:
        x = x.unsqueeze(1)
    live = _live(x, input.lengths).unsqueeze(-1) if is_packed else None
    starts = _initial(module, x, hx, is_batched)
    ends: list[Any] = []
    directions = ("", "_reverse") if module.bidirectional else ("",)
    for layer in range(module.num_layers):
        outputs = []
        for suffix in directions:
            start = tuple(s[len(ends)] for s in starts)
            output, end = _direction(module, x, live, f"_l{layer}{suffix}", start, suffix != "")
            outputs.append(output)
            ends.append(end)
        x = torch.cat(outputs, -1)
    final = tuple(torch.stack([end[k] for end in ends]) for k in range(len(starts)))
    if not is_batched:
        x = x.squeeze(1)
        final = tuple(f.squeeze(1) for f in final)
    elif not is_packed and module.batch_first:
        x = x.transpose(0, 1)
    return (Packed(x, input.lengths) if is_packed else x), (final if module.mode == "LSTM" else final[0])


def _initial(module: Any, x: Any, hx: Any, is_batched: bool) -> Any:
    if module.proj_size or (module.dropout and module.training):
        raise Unsupported("TC120", "a recurrent layer with projections, or in training, over a run-time length")
    count = module.num_layers * (2 if module.bidirectional else 1)
    kinds = 2 if module.mode == "LSTM" else 1
    if hx is None:
        return (x.new_zeros(count, x.shape[1], module.hidden_size),) * kinds
    given = hx if module.mode == "LSTM" else (hx,)
    return given if is_batched else tuple(h.unsqueeze(1) for h in given)


def _direction(module: Any, x: Any, live: Any, name: str, state: Any, is_reverse: bool) -> Any:
    w_hh, b_hh = getattr(module, f"weight_hh{name}"), getattr(module, f"bias_hh{name}", None)
    gates = functional.linear(x, getattr(module, f"weight_ih{name}"), getattr(module, f"bias_ih{name}", None))
    outputs = []
    length = x.shape[0]
    for step in range(length):
        t = length - 1 - step if is_reverse else step
        new = _cell(module.mode, gates[t], functional.linear(state[0], w_hh, b_hh), state)
        if live is None:
            state = new
            outputs.append(new[0])
        else:
            state = tuple(torch.where(live[t], n, s) for n, s in zip(new, state, strict=True))
            outputs.append(torch.where(live[t], new[0], 0.0))
    stacked = torch.stack(outputs).reshape(length, x.shape[1], module.hidden_size)
    return (stacked.flip(0) if is_reverse else stacked), state


def _cell(mode: str, gi: Any, gh: Any, state: Any) -> Any:
    if mode == "GRU":
        i_r, i_z, i_n = gi.chunk(3, -1)
        h_r, h_z, h_n = gh.chunk(3, -1)
        z = torch.sigmoid(i_z + h_z)
        n = torch.tanh(i_n + torch.sigmoid(i_r + h_r) * h_n)
        return (n + z * (state[0] - n),)
    if mode == "LSTM":
        i, f, g, o = (gi + gh).chunk(4, -1)
        c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
    return (torch.tanh(gi + gh) if mode == "RNN_TANH" else torch.relu(gi + gh),)


def run_cell(module: Any, input: Any, hx: Any = None) -> Any:
    """``module(input, hx)`` of an ``nn.RNNCell``, ``nn.GRUCell`` or ``nn.LSTMCell``."""
    mode = {nn.LSTMCell: "LSTM", nn.GRUCell: "GRU"}.get(type(module)) or f"RNN_{module.nonlinearity.upper()}"
    if hx is None:
        zeros = input.new_zeros(input.shape[0], module.hidden_size)
        hx = (zeros, zeros) if mode == "LSTM" else zeros
    state = hx if mode == "LSTM" else (hx,)
    gates = functional.linear(input, module.weight_ih, module.bias_ih)
    new = _cell(mode, gates, functional.linear(state[0], module.weight_hh, module.bias_hh), state)
    return new if mode == "LSTM" else new[0]


def replacement(module: nn.Module, args: tuple[Any, ...]) -> Any:
    """The function here that stands for a call of ``module``, or None if PyTorch's own does."""
    if isinstance(module, nn.RNNBase) and _needs_loop(module, args):
        return run_layers
    is_cell = type(module) in (nn.RNNCell, nn.GRUCell, nn.LSTMCell)
    return run_cell if is_cell and any(map(_has_unknown_batch, args)) else None


def _has_unknown_batch(state: Any) -> bool:
    if isinstance(state, tuple):
        return any(map(_has_unknown_batch, state))
    return isinstance(state, torch.Tensor) and state.dim() == 2 and not isinstance(state.shape[0], int)


def _needs_loop(module: nn.RNNBase, args: tuple[Any, ...]) -> bool:
    """Whether calling ``module`` is a loop over a length of run time."""
    if not args:
        return False
    x = args[0]
    if isinstance(x, Packed):
        return True
    time = 1 if isinstance(x, torch.Tensor) and x.dim() == 3 and module.batch_first else 0
    return isinstance(x, torch.Tensor) and x.dim() in (2, 3) and not isinstance(x.shape[time], int)
