"""Coded errors and how they are shown."""

from toolchain.diagnostics.errors import (
    LoweringError,
    Problem,
    ToolchainError,
    ToolEnvironmentError,
    UnsupportedModelError,
    UsageError,
    VerificationError,
)

__all__ = [
    "LoweringError",
    "Problem",
    "ToolEnvironmentError",
    "ToolchainError",
    "UnsupportedModelError",
    "UsageError",
    "VerificationError",
]
