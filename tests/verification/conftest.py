"""Bundles, each built once for all tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import toolchain
from tests.verification import models

Build = Callable[[str], Path]

EXAMPLES: dict[str, list[tuple[Any, ...]]] = {
    "Gate": [(torch.ones(1, 4),), (-torch.ones(1, 4),)],
    "Rare": [(torch.ones(1, 4),)],
    "Loop": [(torch.tensor([0.3, 0.4]),), (torch.tensor([3.0, -9.0]),)],
    "Counter": [(torch.tensor([1.0, -2.0]),), (torch.tensor([0.5, 0.5]),), (torch.tensor([2.0, 2.0]),)],
    "Sized": [(torch.arange(3.0),), (torch.arange(5.0),)],
    "Near": [(torch.tensor([0.5]),), (torch.tensor([1.5]),)],
    "Lookup": [(torch.tensor([1]),)],
    "Cached": [(torch.ones(3),), (torch.ones(3),)],
    "Strict": [(torch.tensor([1.0, 2.0]),), (torch.tensor([1.0, -2.5]),)],
}


def model(name: str, seed: int = 0) -> nn.Module:
    return models.made(getattr(models, name), seed)


def examples(name: str) -> Sequence[toolchain.Example]:
    return [toolchain.Example(args) for args in EXAMPLES[name]]


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("verified")

    def build(name: str) -> Path:
        path = folder / f"{name}.bundle"
        if not path.exists():
            toolchain.build(model(name), examples(name), out=path)
        return path

    return build
