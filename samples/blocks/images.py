"""Synthetic images of varying contrast, brightness and texture: untrained networks are not equally sure of all."""

import torch
import torch.nn.functional as F


def random_image(size: int, seed: int) -> torch.Tensor:
    """A 1x3xSIZExSIZE float32 image: smooth blobs plus grain, of log-uniform contrast between 1/4 and 4."""
    g = torch.Generator().manual_seed(seed)
    contrast = torch.exp2(4 * torch.rand(1, generator=g) - 2)
    brightness = 0.5 * torch.randn(1, 3, 1, 1, generator=g)
    blobs = F.interpolate(torch.randn(1, 3, 5, 5, generator=g), size=(size, size), mode="bilinear")
    grain = torch.randn(1, 3, size, size, generator=g)
    return contrast * (brightness + blobs + 0.5 * grain)


def random_images(size: int, n: int, seed: int) -> list[tuple[torch.Tensor]]:
    """``n`` argument tuples of one image each; different seeds give different images."""
    return [(random_image(size, 100_000 * (seed + 1) + i),) for i in range(n)]
