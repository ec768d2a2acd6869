"""Bundles on disk: the manifest, the weight archive, recorded tests, and replacing a bundle as a whole."""

from toolchain.bundle.manifest import encode_manifest, manifest_schema
from toolchain.bundle.reader import check_bundle, stray_files
from toolchain.bundle.recorded import Recorded
from toolchain.bundle.versions import installed_versions
from toolchain.bundle.writer import write_bundle

__all__ = [
    "Recorded",
    "check_bundle",
    "encode_manifest",
    "installed_versions",
    "manifest_schema",
    "stray_files",
    "write_bundle",
]
