"""Looking at a bundle as a whole."""

from __future__ import annotations

from pathlib import Path

from runtime_py.format import MANIFEST, Manifest
from runtime_py.integrity import listed_files, open_bundle


def check_bundle(path: Path) -> Manifest:
    """The manifest, after checking every listed file. Raises ``runtime_py.BundleError``."""
    return open_bundle(path).manifest


def stray_files(path: Path, manifest: Manifest) -> tuple[str, ...]:
    """Files in the folder that the manifest does not list, such as those of a native build: harmless, never checked."""
    known = {file.path for file in listed_files(manifest)} | {MANIFEST}
    found = (p.relative_to(path).as_posix() for p in path.rglob("*") if not p.is_dir() or p.is_symlink())
    return tuple(sorted(set(found) - known))
