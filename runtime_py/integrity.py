"""Opening a bundle: the manifest, safe paths, sizes and hashes. Hashes catch accidents, not attackers."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runtime_py.decode import decode
from runtime_py.errors import BundleError
from runtime_py.format import FORMAT_VERSION, MANIFEST, File, Manifest, ModuleFile, Params

_REBUILD = "copy the bundle again, or build it again"
_MAX_MANIFEST = 1 << 28
_ZEROS = b"0" * 64


@dataclass(frozen=True, slots=True)
class OpenBundle:
    """A bundle whose files have been checked.

    root:     its folder.
    manifest: what it holds.
    """

    root: Path
    manifest: Manifest

    def path(self, name: str) -> Path:
        """The file ``name``. Raises ``BundleError`` RT105 if that is not inside the bundle."""
        return contained(self.root, name)


def open_bundle(path: str | os.PathLike[str], verify_hashes: bool = True) -> OpenBundle:
    """Reads the manifest and checks every file that it lists: sizes always, contents with ``verify_hashes``.

    Raises ``BundleError`` RT101 to RT105.
    """
    root = Path(path)
    manifest = read_manifest(root)
    for file in listed_files(manifest):
        check_file(root, file, verify_hashes)
    return OpenBundle(root.resolve(), manifest)


def read_manifest(root: Path) -> Manifest:
    """Raises ``BundleError`` RT101 to RT104; checks no other file."""
    file = contained(root, MANIFEST)
    try:
        if file.stat().st_size > _MAX_MANIFEST:
            raise BundleError("RT102", f"{MANIFEST} is too large to be one", _REBUILD)
        data = file.read_bytes()
    except OSError as error:
        raise BundleError("RT101", f"{root} is not a bundle: {error.strerror} ({MANIFEST})") from error
    manifest = decode(data, Manifest, MANIFEST)
    if manifest.format_version != FORMAT_VERSION:
        text = f"the bundle has format {manifest.format_version}, this runtime reads format {FORMAT_VERSION}"
        raise BundleError("RT103", text, "use the runtime that came with the toolchain that built it")
    if digest(data, manifest.digest) != manifest.digest:
        raise BundleError("RT104", f"{MANIFEST} has been changed", _REBUILD)
    return manifest


def digest(data: bytes, current: str) -> str:
    """The hash of a manifest's text in which ``current`` stands as its digest."""
    return hashlib.sha256(data.replace(current.encode(), _ZEROS, 1)).hexdigest()


def listed_files(manifest: Manifest) -> Iterator[File | ModuleFile | Params]:
    """Every file that the manifest gives a hash for."""
    for module in manifest.modules:
        yield from module.files.values()
    if manifest.params is not None:
        yield manifest.params
    yield from manifest.files


def contained(root: Path, name: str) -> Path:
    """``root / name``. Raises ``BundleError`` RT105 for absolute names, "..", and links that lead out."""
    pure = PurePosixPath(name)
    plain = name != "" and "\\" not in name and "\0" not in name and str(pure) == name
    if not plain or pure.is_absolute() or ".." in pure.parts:
        raise BundleError("RT105", f"{name!r} is no plain relative path", _REBUILD)
    path = root / name
    try:
        inside = path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        inside = False
    if not inside:
        raise BundleError("RT105", f"{name!r} leads out of the bundle", _REBUILD)
    return path


def check_file(root: Path, file: File | ModuleFile | Params, verify_hash: bool = True) -> None:
    """Raises ``BundleError`` RT104 if a file is missing, or not as the manifest says; RT105 for an unsafe path."""
    path = contained(root, file.path)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise BundleError("RT104", f"{file.path} is not a regular file", _REBUILD)
        if status.st_size != file.size:
            text = f"{file.path} has {status.st_size} bytes instead of {file.size}"
            raise BundleError("RT104", text, _REBUILD)
        if verify_hash and hash_file(path) != file.sha256:
            raise BundleError("RT104", f"the contents of {file.path} have been changed", _REBUILD)
    except OSError as error:
        raise BundleError("RT104", f"{file.path} cannot be read: {error.strerror}", _REBUILD) from error


def hash_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
