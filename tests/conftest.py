from __future__ import annotations

import torch

# Test processes share the machine's cores: threads of one that wait for each other would hold up the others.
torch.set_num_threads(1)
