import torch
from torch import nn


class EarlyExit(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.early, self.late = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, x):
        x = torch.relu(self.first(x))
        logits = self.early(x)
        if logits.softmax(-1).max() > 0.5:  # sure already
            return logits, 0
        return self.late(torch.relu(self.second(x))), 1


def model():
    torch.manual_seed(0)
    return EarlyExit().eval()


def example_inputs():
    return (torch.ones(1, 8),)
