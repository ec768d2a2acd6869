"""The least network with a decision: what the host adds to it is nearly all that there is."""

import torch
from torch import nn


class Tiny(nn.Module):
    def forward(self, x):
        y = x + x
        if y[0] > 3:
            return y
        return x


def model():
    return Tiny().eval()


def example_inputs():
    return (torch.ones(4),)
