"""The command line of ``iree-run-module`` for a bundle, with its recorded calls as inputs."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jinja2
import numpy as np

from hostgen.vm.emitter import instance_name
from runtime_py.format import Manifest, RecordedCall, RecordedTest, Tree
from runtime_py.integrity import OpenBundle
from runtime_py.recordings import array_path, load_array, read_calls, recorded_value
from runtime_py.signature import select_entry

_DEVICES = {"cpu": "local-sync", "cuda": "cuda", "vulkan": "vulkan"}


@dataclass(frozen=True, slots=True)
class _Call:
    """A recorded call: its function and the values of ``--input``."""

    function: str
    inputs: tuple[str, ...]


def run_script(bundle: OpenBundle) -> str:
    """``run.sh`` for a bundle that is complete but for it."""
    manifest = bundle.manifest
    calls = [_call(bundle, test, call) for test, call in _possible_calls(bundle)]
    return _template().render(
        name=manifest.name,
        calls=[call for call in calls if call is not None],
        targets=[(folder_name(target), _DEVICES[target.partition(":")[0]]) for target in manifest.targets],
        instances=[instance_name(number) for number in range(len(manifest.instances))],
        archive=manifest.params.path if manifest.params else "",
    )


def folder_name(target: str) -> str:
    """A target's folder: a colon cannot be part of a file name everywhere that a bundle may be copied to."""
    return target.replace(":", "-")


def _possible_calls(bundle: OpenBundle) -> Iterator[tuple[RecordedTest, RecordedCall]]:
    for test in bundle.manifest.tests:
        calls = read_calls(bundle, test)
        # A process makes one call, so that no state is left from an earlier one.
        yield from ((test, call) for call in (calls[:1] if _has_state(bundle.manifest) else calls))


def _has_state(manifest: Manifest) -> bool:
    return len(manifest.states) > 1 or any(state.slots for state in manifest.states)


def _call(bundle: OpenBundle, test: RecordedTest, call: RecordedCall) -> _Call | None:
    """None if the tool cannot read an input: NumPy's files have no bfloat16."""
    paths: dict[int, str] = {}

    def array(tree: Tree) -> Any:
        loaded = load_array(bundle, test, tree)
        paths[id(loaded)] = "" if tree.dtype == "bfloat16" else array_path(test, tree)
        return loaded

    args, kwargs = recorded_value(call.arguments, array)
    match = select_entry(bundle.manifest.entries, args, kwargs)
    inputs = tuple(f"@{paths[id(leaf)]}" if isinstance(leaf, np.ndarray) else _number(leaf) for leaf in match.leaves)
    return None if "@" in inputs else _Call(bundle.manifest.entries[match.entry].name, inputs)


def _number(leaf: float) -> str:
    return repr(leaf) if isinstance(leaf, float) else str(int(leaf))


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hostgen"), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template("vm/run.sh.j2")
