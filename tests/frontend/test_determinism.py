"""The same program gives the same graph, whatever order objects have in memory."""

from __future__ import annotations

import torch
from torch import nn

from toolchain import BuildOptions, Example
from toolchain.ir.printer import print_program
from toolchain.pipeline import explore_program


class Counters(nn.Module):
    """Many tensors from before the call, of which each path changes others."""

    def __init__(self) -> None:
        super().__init__()
        for i in range(12):
            self.register_buffer(f"count{i}", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i, buffer in enumerate(self.buffers()):
            if (x.sum() > i).item():
                buffer.add_(x)
            else:
                buffer.mul_(2)
        return sum(self.buffers(), x)


def test_explored_again() -> None:
    texts = set()
    for _ in range(4):
        program = explore_program(Counters().eval(), [Example((torch.ones(2),))], BuildOptions())
        texts.add(print_program(program))
    assert len(texts) == 1
