"""Putting a finished folder in the place of another, so that a reader sees the old one or the new one."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime_py.format import MANIFEST
from toolchain.diagnostics import UsageError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def check_replaceable(out: Path) -> None:
    """Raises ``UsageError`` TC224 if something that is neither a bundle nor an empty folder is at ``out``."""
    if not out.exists() and not out.is_symlink():
        return
    is_folder = out.is_dir() and not out.is_symlink()
    if not is_folder or not ((out / MANIFEST).is_file() or not any(out.iterdir())):
        raise UsageError("TC224", f"{out} exists and is not a bundle", "choose another path, or remove it")


@contextmanager
def replacing(out: Path) -> Iterator[Path]:
    """A new folder beside ``out`` to write into; it takes the place of ``out`` when the block ends without an error.

    Otherwise it is removed, and ``out`` stays as it was. Raises ``UsageError`` TC224 for something else at ``out``.
    """
    out = out.absolute()
    check_replaceable(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".tmp", dir=out.parent))
    try:
        scratch.chmod(0o755)
        yield scratch
        _sync_tree(scratch)
        check_replaceable(out)
        _put(scratch, out)
        _sync(out.parent)
    finally:
        # After an exchange it is the old bundle that lies here.
        shutil.rmtree(scratch, ignore_errors=True)


def _put(new: Path, out: Path) -> None:
    if not out.exists():
        os.rename(new, out)
    elif not _exchange(new, out):
        aside = new.with_suffix(".old")
        os.rename(out, aside)
        try:
            os.rename(new, out)
        except OSError:
            os.rename(aside, out)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _exchange(a: Path, b: Path) -> bool:
    """Swaps two folders in one step; False where the C library or the file system cannot."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    return bool(renameat2(_AT_FDCWD, os.fsencode(a), _AT_FDCWD, os.fsencode(b), _RENAME_EXCHANGE) == 0)


def _sync_tree(root: Path) -> None:
    for folder, _, names in os.walk(root):
        for name in names:
            _sync(Path(folder, name))
        _sync(Path(folder))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
