"""A content-addressed store of compiled modules, shared by all builds of a user.

An entry is two files named by the key: ``.vmfb``, and ``.json`` with its size, its hash and the inputs that made the
key. The second is written last, so an entry without it does not exist.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import platformdirs
from filelock import FileLock

from toolchain.diagnostics import UsageError

_LAYOUT = "v1"


class CacheKey(msgspec.Struct, frozen=True):
    """Every input that decides what a compiled module contains.

    subgraph: its canonical text.  target: canonical name and machine.  flags: of iree-compile.
    versions: ``name=version`` of each tool involved, this package included.
    """

    subgraph: str
    target: str
    flags: tuple[str, ...]
    versions: tuple[str, ...]

    def digest(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()


class _Record(msgspec.Struct, frozen=True):
    size: int
    sha256: str
    key: CacheKey


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A compiled module in the store. path: of the VMFB; valid until the entry is removed."""

    path: Path
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """directory: where the store is. entries: number of modules. bytes: their total size, records included."""

    directory: Path
    entries: int
    bytes: int


def default_directory() -> Path:
    """``$TOOLCHAIN_CACHE_DIR``, otherwise the user's cache directory."""
    override = os.environ.get("TOOLCHAIN_CACHE_DIR")
    return Path(override) if override else Path(platformdirs.user_cache_dir("dynn-toolchain"))


class Cache:
    """Safe for use by several processes; UsageError TC212 if the directory cannot be used."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = (directory or default_directory()).absolute()
        self._root = self.directory / _LAYOUT
        try:
            self._root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                "TC212", f"the cache directory {self.directory} cannot be used: {error}", "set TOOLCHAIN_CACHE_DIR"
            ) from error
        self._lock = FileLock(self._root / ".lock")

    def get(self, key: CacheKey) -> CacheEntry | None:
        """The entry of ``key`` if it is there and whole; it then counts as used now."""
        module, record_file = self._files(key.digest())
        try:
            record = msgspec.json.decode(record_file.read_bytes(), type=_Record)
            os.utime(record_file)
            content = module.read_bytes()
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        if hashlib.sha256(content).hexdigest() != record.sha256:
            return None
        return CacheEntry(module, record.size, record.sha256)

    def put(self, key: CacheKey, compiled: Path) -> CacheEntry:
        """Moves the file ``compiled``, which must be in ``scratch``'s file system, into the store."""
        module, record_file = self._files(key.digest())
        content = compiled.read_bytes()
        record = _Record(len(content), hashlib.sha256(content).hexdigest(), key)
        with self._lock:
            module.parent.mkdir(exist_ok=True)
            os.replace(compiled, module)
            temporary = record_file.with_suffix(".tmp")
            temporary.write_bytes(msgspec.json.encode(record))
            os.replace(temporary, record_file)
        return CacheEntry(module, record.size, record.sha256)

    def scratch(self) -> tempfile.TemporaryDirectory[str]:
        """A directory for files on their way into the store."""
        return tempfile.TemporaryDirectory(prefix=".scratch-", dir=self._root)

    def info(self) -> CacheInfo:
        records = list(self._records())
        return CacheInfo(self.directory, len(records), sum(_size(record) for record in records))

    def clear(self) -> CacheInfo:
        """Removes every entry; returns what there was."""
        before = self.info()
        self.prune(0)
        return before

    def prune(self, max_bytes: int) -> int:
        """Removes the entries used longest ago until at most ``max_bytes`` are left; returns how many it removed."""
        with self._lock:
            records = sorted(self._records(), key=lambda path: path.stat().st_mtime)
            total, removed = sum(_size(record) for record in records), 0
            for record in records:
                if total <= max_bytes:
                    break
                total -= _size(record)
                record.unlink()
                record.with_suffix(".vmfb").unlink(missing_ok=True)
                removed += 1
        return removed

    def _files(self, digest: str) -> tuple[Path, Path]:
        stem = self._root / digest[:2] / digest
        return stem.with_suffix(".vmfb"), stem.with_suffix(".json")

    def _records(self) -> Iterator[Path]:
        return self._root.glob("??/*.json")


def _size(record: Path) -> int:
    files = (record, record.with_suffix(".vmfb"))
    return sum(file.stat().st_size for file in files if file.exists())
