"""Deploys PyTorch models with data-dependent control flow as IREE modules and a small host program.

Importing this is cheap: torch and the compilers come in with the first call.
"""

from toolchain.api import build, explain, verify
from toolchain.diagnostics import (
    LoweringError,
    Problem,
    ToolchainError,
    ToolEnvironmentError,
    UnsupportedModelError,
    UsageError,
    VerificationError,
)
from toolchain.diagnostics.report import Cut, Report, Summary
from toolchain.host_calls import host_call
from toolchain.ir.types import TensorType
from toolchain.options import BuildOptions, Dynamic, Example
from toolchain.results import Bundle, Infeasible, Verdict

__all__ = [
    "BuildOptions",
    "Bundle",
    "Cut",
    "Dynamic",
    "Example",
    "Infeasible",
    "LoweringError",
    "Problem",
    "Report",
    "Summary",
    "TensorType",
    "ToolEnvironmentError",
    "ToolchainError",
    "UnsupportedModelError",
    "UsageError",
    "Verdict",
    "VerificationError",
    "build",
    "explain",
    "host_call",
    "verify",
]
