"""The manifest as JSON text, and its schema; the definition is ``runtime_py.format``."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from runtime_py.format import Manifest, Recording
from runtime_py.integrity import digest


def encode_manifest(manifest: Manifest) -> bytes:
    """The text of ``manifest.json``, with its digest filled in."""
    zeros = "0" * 64
    data = _encode(replace(manifest, digest=zeros))
    return data.replace(zeros.encode(), digest(data, zeros).encode(), 1)


def encode_recording(recording: Recording) -> bytes:
    """The text of a recorded test."""
    return _encode(recording)


def manifest_schema() -> bytes:
    """The JSON schema of ``manifest.json``."""
    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(Manifest)), indent=2) + b"\n"


def _encode(tree: Manifest | Recording) -> bytes:
    return msgspec.json.format(msgspec.json.encode(tree), indent=1) + b"\n"
