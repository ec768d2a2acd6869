"""A region proposal network: anchors scored and moved, clipped to the image, and filtered by size and by score.

Ren, He, Girshick, Sun: Faster R-CNN: Towards Real-Time Object Detection with Region Proposal Networks (NeurIPS 2015).
Dynamic: how many proposals each image of the batch keeps; one without any gets the whole image as its proposal.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.images import random_image
from samples.blocks.init import he_init
from samples.blocks.residual import cifar_stem

SIZE, GRID, CHANNELS, BATCH, CLASSES = 32, 4, 16, 2, 5
ANCHORS = ((8.0, 8.0), (16.0, 16.0), (6.0, 18.0))  # widths and heights
# On the untrained scores: a third of the random images keeps nothing, the others 1 to 6 boxes.
MIN_SIZE, SCORE_THRESHOLD, BEFORE, AFTER = 4.0, 0.5, 24, 6
SEEDS = (0, 1, 3, 12)


def grid_anchors() -> torch.Tensor:
    """Anchor boxes (48x4: left, top, right, bottom) of all cells."""
    steps = (torch.arange(GRID) + 0.5) * (SIZE / GRID)
    centres = torch.cartesian_prod(steps, steps).repeat_interleave(len(ANCHORS), dim=0)
    halves = torch.tensor(ANCHORS).repeat(GRID * GRID, 1) / 2
    return torch.cat([centres - halves, centres + halves], dim=1)


def moved(anchors: torch.Tensor, deltas: torch.Tensor) -> torch.Tensor:
    """Anchors (Nx4) shifted and scaled by deltas (Nx4: x, y, log width, log height)."""
    sizes = anchors[:, 2:] - anchors[:, :2]
    centres = anchors[:, :2] + sizes / 2 + deltas[:, :2] * sizes
    halves = sizes * torch.exp(deltas[:, 2:].clamp(max=2.0)) / 2
    return torch.cat([centres - halves, centres + halves], dim=1)


class ProposalNetwork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(cifar_stem(), nn.MaxPool2d(4), nn.Conv2d(16, CHANNELS, 3, 2, 1), nn.ReLU())
        self.objectness = nn.Conv2d(CHANNELS, len(ANCHORS), 1)
        self.deltas = nn.Conv2d(CHANNELS, 4 * len(ANCHORS), 1)
        self.register_buffer("anchors", grid_anchors())

    def filter(self, boxes: torch.Tensor, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The best of an image's boxes (48x4) and their scores (48)."""
        scores, order = scores.topk(min(BEFORE, scores.numel()))
        boxes = boxes[order].clamp(0, SIZE)
        width, height = (boxes[:, 2:] - boxes[:, :2]).unbind(1)
        keep = torch.where((width >= MIN_SIZE) & (height >= MIN_SIZE))[0]
        boxes, scores = boxes[keep], scores[keep]
        keep = torch.where(scores >= SCORE_THRESHOLD)[0]
        keep = keep[:AFTER]
        return boxes[keep], scores[keep]

    def forward(self, images: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Images (2x3x32x32) to each image's boxes (Nx4) and scores (N), N from 1 to 6."""
        x = self.features(images)
        scores = torch.sigmoid(self.objectness(x)).permute(0, 2, 3, 1).flatten(1)
        deltas = self.deltas(x).permute(0, 2, 3, 1).reshape(images.shape[0], -1, 4)
        proposals, confidences = [], []
        for image_scores, image_deltas in zip(scores, deltas, strict=True):
            boxes, kept = self.filter(moved(self.anchors, image_deltas), image_scores)
            if len(boxes) == 0:
                boxes, kept = torch.tensor([[0.0, 0.0, SIZE, SIZE]]), torch.zeros(1)
            proposals.append(boxes)
            confidences.append(kept)
        return proposals, confidences


def model() -> nn.Module:
    torch.manual_seed(0)
    return he_init(ProposalNetwork()).eval()


def draw(seed: int) -> tuple[torch.Tensor]:
    return (torch.cat([random_image(SIZE, BATCH * seed + i) for i in range(BATCH)]),)


def example_inputs() -> tuple[torch.Tensor]:
    return draw(SEEDS[0])


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield draw(seed)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return [draw(100_000 * (seed + 1) + i) for i in range(n)]
