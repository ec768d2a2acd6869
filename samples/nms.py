"""A one-stage detector head with score filter and greedy non-maximum suppression.

Redmon, Divvala, Girshick, Farhadi: You Only Look Once (CVPR 2016); the suppression loop is the classical one.
Dynamic: how many boxes pass the filter, and how many rounds the suppression takes, none included.
"""

from collections.abc import Iterator

import torch
from torch import nn

from samples.blocks.images import random_image, random_images
from samples.blocks.init import he_init
from samples.blocks.residual import cifar_stem

SIZE, GRID, SCORE_THRESHOLD, IOU_THRESHOLD, MAX_BOXES = 32, 4, 0.5, 0.3, 8
BIAS = -2.0  # on the untrained score: none to all of the 16 boxes pass the filter
SEEDS = (0, 10, 12, 38, 6, 1)


def iou(box: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    """Overlap of one box (4: left, top, right, bottom) with many (Nx4)."""
    corner1 = torch.maximum(box[:2], boxes[:, :2])
    corner2 = torch.minimum(box[2:], boxes[:, 2:])
    inter = (corner2 - corner1).clamp(min=0).prod(dim=1)
    area = (box[2:] - box[:2]).prod()
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(dim=1)
    return inter / (area + areas - inter)


def nms(boxes: torch.Tensor, scores: torch.Tensor) -> list[torch.Tensor]:
    """Indices of the boxes kept, best first."""
    keep = []
    order = scores.argsort(descending=True)
    while order.numel() > 0 and len(keep) < MAX_BOXES:
        best = order[0]
        keep.append(best)
        rest = order[1:]
        order = rest[torch.nonzero(iou(boxes[best], boxes[rest]) <= IOU_THRESHOLD).flatten()]
    return keep


class Detector(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(cifar_stem(), nn.MaxPool2d(4), nn.Conv2d(16, 16, 3, 2, 1), nn.ReLU())
        self.head = nn.Conv2d(16, 5, 1)
        steps = (torch.arange(GRID) + 0.5) * (SIZE / GRID)
        self.register_buffer("centres", torch.cartesian_prod(steps, steps))

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Image (1x3x32x32) to boxes (Nx4) and scores (N), N from 0 to 8."""
        out = self.head(self.features(image)).flatten(2)[0].T
        scores = torch.sigmoid(out[:, 0])
        centres = self.centres + 4 * torch.tanh(out[:, 1:3])
        sizes = 6 * torch.exp(torch.tanh(out[:, 3:5]))
        boxes = torch.cat([centres - sizes / 2, centres + sizes / 2], dim=1)
        good = torch.nonzero(scores > SCORE_THRESHOLD).flatten()
        boxes, scores = boxes[good], scores[good]
        keep = nms(boxes, scores)
        if len(keep) == 0:
            return torch.empty(0, 4), torch.empty(0)
        index = torch.stack(keep)
        return boxes[index], scores[index]


def model() -> nn.Module:
    torch.manual_seed(0)
    net = Detector()
    he_init(net)
    with torch.no_grad():
        net.head.bias[0] += BIAS
    return net.eval()


def example_inputs() -> tuple[torch.Tensor]:
    return (random_image(SIZE, SEEDS[0]),)


def inputs() -> Iterator[tuple[torch.Tensor]]:
    for seed in SEEDS:
        yield (random_image(SIZE, seed),)


def random_inputs(n: int, seed: int = 0) -> list[tuple[torch.Tensor]]:
    return random_images(SIZE, n, seed)
