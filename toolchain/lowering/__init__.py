"""From subgraphs to compiled modules: torch -> torch-mlir -> IREE, one adapter for each external tool."""

from toolchain.lowering.cache import Cache, CacheInfo
from toolchain.lowering.canonical import canonical_text
from toolchain.lowering.pool import Compilation, CompilationError, CompiledModule, compile_subgraphs
from toolchain.lowering.targets import Target, TargetInfo, list_targets, parse_target

__all__ = [
    "Cache",
    "CacheInfo",
    "Compilation",
    "CompilationError",
    "CompiledModule",
    "Target",
    "TargetInfo",
    "canonical_text",
    "compile_subgraphs",
    "list_targets",
    "parse_target",
]
