"""Weights for networks that are never trained but should behave as if they were."""

import torch
from torch import nn


@torch.no_grad()
def he_init(net: nn.Module) -> nn.Module:
    """Draws convolutions by He's rule and gives every batch norm statistics and scales of its own.

    PyTorch's defaults shrink the signal of a deep network to nothing when batch norm runs on its untouched statistics.
    """
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        elif isinstance(m, nn.BatchNorm2d):
            assert m.running_mean is not None
            assert m.running_var is not None
            m.weight.uniform_(0.8, 1.2)
            m.bias.normal_(0.0, 0.1)
            m.running_mean.normal_(0.0, 0.1)
            m.running_var.uniform_(0.7, 1.3)
    return net


@torch.no_grad()
def damp_residuals(net: nn.Module, norm: str, factor: float) -> nn.Module:
    """Scales the batch norm named ``norm`` that ends each residual branch, which keeps deep sums from growing."""
    for name, m in net.named_modules():
        if name.rpartition(".")[2] == norm and isinstance(m, nn.BatchNorm2d):
            m.weight.mul_(factor)
            m.bias.mul_(factor)
    return net
