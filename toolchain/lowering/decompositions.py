"""Replacements for operations that do not lower."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from torch_mlir.extras.fx_decomp_util import get_decomposition_table


@functools.cache
def decomposition_table() -> Mapping[Any, Callable[..., Any]]:
    """By operation overload."""
    return dict(get_decomposition_table())
