"""Writes a bundle."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from runtime_py.format import (
    FORMAT_VERSION,
    MANIFEST,
    File,
    Host,
    Manifest,
    Module,
    ModuleFile,
    RecordedTest,
    Versions,
)
from runtime_py.integrity import OpenBundle, contained
from toolchain.bundle import describe
from toolchain.bundle.manifest import encode_manifest
from toolchain.bundle.params import used_constants, write_archive
from toolchain.bundle.recorded import RECORDING, Recorded, encode_calls
from toolchain.bundle.replace import replacing
from toolchain.diagnostics import UsageError
from toolchain.ir import Program, Subgraph

if TYPE_CHECKING:
    from toolchain.lowering import Compilation, CompiledModule, Target


def write_bundle(
    program: Program,
    compilation: Compilation,
    targets: Sequence[Target],
    hosts: Mapping[str, bytes],
    tests: Sequence[Sequence[Recorded]],
    out: Path,
    versions: Versions,
    debug: Mapping[str, bytes] | None = None,
    complete: Callable[[OpenBundle], Mapping[str, bytes]] = lambda bundle: {},
) -> Path:
    """Writes the bundle ``out`` as a whole: whoever looks sees what was there before, or all of it.

    compilation: a module for every subgraph of ``program`` and every one of ``targets``.
    hosts:       paths in the bundle (``"host/python/program.py"``) to contents.
    tests:       each a sequence of calls to be made in order from the initial state.
    debug:       more files, under ``debug/``.
    complete:    given all of this in its place, makes more files of hosts.

    Raises ``UsageError`` TC224 if something that is no bundle is at ``out`` or the folder cannot be written.
    """
    try:
        with replacing(out) as root:
            _fill(root, program, compilation, targets, hosts, tests, versions, debug or {}, complete)
    except OSError as error:
        raise UsageError("TC224", f"{out} cannot be written: {error}", "choose another path") from error
    return out


def _fill(
    root: Path,
    program: Program,
    compilation: Compilation,
    targets: Sequence[Target],
    hosts: Mapping[str, bytes],
    tests: Sequence[Sequence[Recorded]],
    versions: Versions,
    debug: Mapping[str, bytes],
    complete: Callable[[OpenBundle], Mapping[str, bytes]],
) -> None:
    recorded, test_files = _tests(tests)
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        digest="",
        name=program.name,
        versions=versions,
        targets=tuple(target.canonical for target in targets),
        entries=tuple(map(describe.describe_entry, program.entries)),
        states=tuple(map(describe.describe_state, program.states)),
        initial_state=tuple(map(describe.describe_initial, program.initial_state)),
        modules=tuple(_module(root, s, compilation, targets) for s in program.subgraphs.values()),
        instances=describe.describe_instances(program),
        params=write_archive(program.constants, used_constants(program), root),
        functions=describe.describe_functions(program),
        hosts=(),
        tests=recorded,
        files=_write_all(root, {**hosts, **test_files, **debug}),
        host_calls=describe.describe_host_calls(program),
    )
    more = complete(OpenBundle(root, manifest))
    manifest = replace(manifest, hosts=_hosts({**hosts, **more}), files=manifest.files + _write_all(root, more))
    (root / MANIFEST).write_bytes(encode_manifest(manifest))


def _module(root: Path, subgraph: Subgraph, compilation: Compilation, targets: Sequence[Target]) -> Module:
    compiled = {t.canonical: compilation.modules[(subgraph.name, t.name)] for t in targets}
    first = next(iter(compiled.values()))
    return Module(
        id=subgraph.name,
        function=first.entry,
        places=describe.describe_places(subgraph),
        parameters=first.parameters,
        results=tuple(describe.describe_type(r.type) for r in subgraph.results),
        files={target: _copy(root, subgraph.name, target, module) for target, module in compiled.items()},
    )


def _copy(root: Path, name: str, target: str, module: CompiledModule) -> ModuleFile:
    # A colon cannot be part of a file name everywhere that a bundle may be copied to.
    path = f"modules/{target.replace(':', '-')}/{name}.vmfb"
    file = contained(root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(module.path, file)
    return ModuleFile(path, module.size, module.sha256, tuple(sorted(module.features)))


def _write_all(root: Path, files: Mapping[str, bytes]) -> tuple[File, ...]:
    return tuple(_write(root, path, data) for path, data in files.items())


def _write(root: Path, path: str, data: bytes) -> File:
    file = contained(root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return File(path, len(data), hashlib.sha256(data).hexdigest())


def _hosts(files: Mapping[str, bytes]) -> tuple[Host, ...]:
    names = dict.fromkeys(PurePosixPath(path).parts[1] for path in files)
    return tuple(_host(name, {p: d for p, d in files.items() if PurePosixPath(p).parts[1] == name}) for name in names)


def _host(name: str, files: Mapping[str, bytes]) -> Host:
    # Compiled files, such as the VM host's, have no lines; a library that comes along is not the program.
    own = {path: data for path, data in files.items() if "/include/" not in path and b"\0" not in data}
    lines = sum(data.count(b"\n") for data in own.values())
    return Host(name, tuple(files), lines)


def _tests(tests: Sequence[Sequence[Recorded]]) -> tuple[tuple[RecordedTest, ...], dict[str, bytes]]:
    files: dict[str, bytes] = {}
    for number, calls in enumerate(tests):
        files |= {f"tests/{number}/{name}": data for name, data in encode_calls(calls).items()}
    return tuple(RecordedTest(str(i), f"tests/{i}/{RECORDING}") for i in range(len(tests))), files
