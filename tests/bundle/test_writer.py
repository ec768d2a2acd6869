"""What is written, and that it is all or nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

import runtime_py
from runtime_py.format import Dim, Instance, ValueType
from runtime_py.integrity import open_bundle, read_manifest
from runtime_py.recordings import load_recording
from tests.runtime.support import (
    VERSIONS,
    Recorded,
    compiled,
    entry,
    gate_program,
    leaf,
    plain_program,
    signature,
    write_plain,
)
from tests.runtime.support import tensor as tensor_input
from toolchain.bundle import check_bundle, installed_versions, replace, stray_files, write_bundle
from toolchain.bundle.params import used_constants
from toolchain.diagnostics import UsageError
from toolchain.ir import Constant, Program, State, StateSlot, TensorType
from toolchain.lowering import parse_target

HOST = "FUNCTIONS = {(0, 0): lambda rt: VALUE}\nVALUE = 1\n"


def write(out: Path, host: str = HOST, program: Program | None = None) -> Path:
    files = {"host/python/program.py": host.encode()}
    return write_bundle(
        program or plain_program(entry(signature())), compiled({}), [parse_target("cpu")], files, (), out, VERSIONS
    )


def listing(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


def test_layout(tmp_path: Path) -> None:
    calls = [[Recorded((torch.ones(2),), {}, 1)], [Recorded((), {}, None, ("ValueError", "no"))]]
    out = write_plain(tmp_path / "b", HOST, entry(signature()), tests=calls)
    assert listing(out) == [
        *("host", "host/python", "host/python/program.py", "manifest.json"),
        *("tests", "tests/0", "tests/0/call0_in0.npy", "tests/0/calls.json", "tests/1", "tests/1/calls.json"),
    ]
    assert listing(tmp_path)[0] == "b"
    assert len(list(tmp_path.iterdir())) == 1
    manifest = check_bundle(out)
    assert stray_files(out, manifest) == ()
    assert [f.path for f in manifest.files] == [
        *("host/python/program.py", "tests/0/call0_in0.npy", "tests/0/calls.json", "tests/1/calls.json")
    ]
    assert (manifest.hosts[0].name, manifest.hosts[0].lines) == ("python", 2)


def test_written_bundles_can_be_read_by_everyone(tmp_path: Path) -> None:
    assert write(tmp_path / "b").stat().st_mode & 0o777 == 0o755


def test_replaces_a_bundle(tmp_path: Path) -> None:
    out = write(tmp_path / "b")
    (out / "stray").write_text("of a native build")
    assert stray_files(out, read_manifest(out)) == ("stray",)
    write(out, HOST.replace("VALUE = 1", "VALUE = 2"))
    assert runtime_py.load(out)() == 2
    assert listing(tmp_path) == ["b", "b/host", "b/host/python", "b/host/python/program.py", "b/manifest.json"]


def test_replaces_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    assert runtime_py.load(write(tmp_path / "b"))() == 1


def test_replaces_without_an_exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replace, "_exchange", lambda a, b: False)
    out = write(tmp_path / "b")
    write(out, HOST.replace("VALUE = 1", "VALUE = 2"))
    assert runtime_py.load(out)() == 2
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_a_loaded_session_outlives_its_bundle(gate_bundle_copy: Path) -> None:
    session = runtime_py.load(gate_bundle_copy)
    write(gate_bundle_copy)
    assert session(torch.ones(4))["out"].tolist() == [2.0] * 4
    assert session.clone()(torch.ones(4))["out"].tolist() == [2.0] * 4


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_leaves_what_is_no_bundle_alone(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "b"
    if kind == "file":
        out.write_text("mine")
    elif kind == "folder":
        out.mkdir()
        (out / "mine").write_text("mine")
    else:
        (tmp_path / "target").mkdir()
        out.symlink_to(tmp_path / "target")
    before = listing(tmp_path)
    with pytest.raises(UsageError) as caught:
        write(out)
    assert caught.value.code == "TC224"
    assert listing(tmp_path) == before


def test_an_interrupted_build_leaves_the_old_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = write(tmp_path / "b")
    before = listing(tmp_path)

    def interrupted(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(replace, "_sync_tree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(out, "FUNCTIONS = {}\n")
    assert listing(tmp_path) == before
    assert runtime_py.load(out)() == 1


@pytest.mark.parametrize("at", ["new", "second"])
def test_a_failing_rename_leaves_the_old_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    out = write(tmp_path / "b")
    rename, failing = os.rename, {"new": 0, "second": 1}[at]
    calls: list[str] = []

    def flaky(source: Path, target: Path) -> None:
        calls.append(str(source))
        if len(calls) - 1 == failing:
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(replace, "_exchange", lambda a, b: False)
    monkeypatch.setattr(replace.os, "rename", flaky)
    with pytest.raises(UsageError, match="No space left"):
        write(out, "FUNCTIONS = {}\n")
    assert runtime_py.load(out)() == 1
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize("path", ["../x", "/etc/x", "host/../../x", "a//b", "", "a\\b"])
def test_refuses_paths_that_leave_the_bundle(tmp_path: Path, path: str) -> None:
    with pytest.raises(runtime_py.BundleError) as caught:
        write_bundle(
            *(plain_program(entry(signature())), compiled({}), [parse_target("cpu")], {"host/a": b""}, ()),
            *(tmp_path / "b", VERSIONS),
            debug={path: b""},
        )
    assert caught.value.code == "RT105"
    assert listing(tmp_path) == []


def test_only_used_weights_and_equal_ones_once(gate_bundle: Path) -> None:
    params = read_manifest(gate_bundle).params
    assert params is not None
    assert [w.name for w in params.weights] == ["a.weight", "b.weight", "total"]
    assert params.size < 4096 + 1
    assert all(w.offset % 64 == 0 and w.length == 16 for w in params.weights)


def test_tied_weights_share_their_bytes(tmp_path: Path) -> None:
    names = ("one", "two", "half", "empty", "scalar")
    values = (torch.ones(3), torch.ones(3), torch.ones(3).half(), torch.ones(0), torch.tensor(7))
    kinds = [Constant(n, TensorType("float32", ())) for n in names]
    state = State(tuple(StateSlot(k.name, k.type) for k in kinds))
    program = plain_program(
        entry(signature()),
        states=(state,),
        initial_state=tuple(kinds),
        constants=dict(zip(names, values, strict=True)) | {"unused": torch.ones(9)},
    )
    assert used_constants(program) == names
    out = write(tmp_path / "b", program=program)
    params = read_manifest(out).params
    assert params is not None
    place = {w.name: (w.offset, w.length) for w in params.weights}
    assert place["one"] == place["two"]
    assert len(set(place.values())) == 4
    state_now = runtime_py.load(out).state
    assert all(
        torch.equal(state_now[n], v) and state_now[n].dtype == v.dtype for n, v in zip(names, values, strict=True)
    )


def test_strided_weights_are_stored_contiguously(tmp_path: Path) -> None:
    weight = torch.arange(6.0).reshape(2, 3).t()
    kind = Constant("w", TensorType("float32", (3, 2)))
    state = State((StateSlot("w", kind.type),))
    program = plain_program(entry(signature()), states=(state,), initial_state=(kind,), constants={"w": weight})
    assert torch.equal(runtime_py.load(write(tmp_path / "b", program=program)).state["w"], weight)


def test_description_of_the_gate(gate_bundle: Path) -> None:
    manifest = read_manifest(gate_bundle)
    assert manifest.targets == ("cpu:host",)
    assert manifest.instances == (
        *(Instance("step", ("a.weight",)), Instance("step", ("b.weight",)), Instance("add", ())),
    )
    step = manifest.modules[0]
    assert (step.id, step.parameters) == ("step", ("tensor", "i64"))
    assert step.results == (ValueType("tensor", "float32", (4,)), ValueType("tensor", "bool", ()))
    assert step.files["cpu:host"].path == "modules/cpu-host/step.vmfb"
    assert manifest.entries[0].inputs[0].dims == (Dim(4),)
    (function,) = manifest.functions
    assert [(b.id, b.terminator, b.kind, b.edges, b.calls) for b in function.blocks] == [
        *((0, "branch", "data", (1, 2), (0,)), (1, "jump", "", (2,), (1,)), (2, "return", "", (), (2,))),
    ]
    assert (function.blocks[0].place.file, function.blocks[0].place.line) == ("gate.py", 7)
    assert "/home" not in (gate_bundle / "manifest.json").read_text()


def test_recorded_calls_come_back(tmp_path: Path) -> None:
    x = torch.tensor([1.0, float("nan")])
    args = ([x, {"k": x.bfloat16(), 3: (True, None)}], float("inf"), "text", {1, 2})
    recorded = Recorded(args, {"flag": -0.0}, (x > 0, torch.Size([2])), None, "printed\n")
    failing = Recorded((np.ones(1, np.int8),), {}, None, ("ValueError", "no"))
    out = write_plain(tmp_path / "b", HOST, entry(signature()), tests=[[recorded, failing]])
    bundle = open_bundle(out)
    first, second = load_recording(bundle, bundle.manifest.tests[0])
    assert np.array_equal(first.args[0][0], x.numpy(), equal_nan=True)
    assert str(first.args[0][1]["k"].dtype) == "bfloat16"
    assert first.args[0][1][3] == (True, None)
    assert first.args[1:] == (float("inf"), "text", {1, 2})
    assert str(first.kwargs["flag"]) == "-0.0"
    assert first.result[0].tolist() == [True, False]
    assert first.result[1] == (2,)
    assert (first.printed, first.exception) == ("printed\n", None)
    assert second.exception == ("ValueError", "no")
    assert second.args[0].dtype == np.int8


def test_recorded_calls_hold_tensors_and_constants_only(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        write_plain(tmp_path / "b", HOST, entry(signature()), tests=[[Recorded((1j,), {})]])
    assert listing(tmp_path) == []


def test_dynamic_dims_reach_the_manifest(tmp_path: Path) -> None:
    out = write_plain(tmp_path / "b", HOST, entry(signature(leaf()), tensor_input("x", "int64", 2, (1, 8), None)))
    assert read_manifest(out).entries[0].inputs[0].dims == (Dim(2), Dim(None, 1, 8), Dim(None))


def test_versions() -> None:
    versions = installed_versions()
    assert versions.torch == torch.__version__.partition("+")[0] or versions.torch == torch.__version__
    assert installed_versions("3.12").iree == "3.12"
    assert versions.toolchain.count(".") == 2


def test_manifest_is_plain_json(gate_bundle: Path) -> None:
    tree = json.loads((gate_bundle / "manifest.json").read_text())
    assert tree["format_version"] == 1
    assert list(tree["modules"][0]["files"]) == ["cpu:host"]


def test_gate_program_counts(gate_bundle: Path) -> None:
    assert len(gate_program().subgraphs) == len(list((gate_bundle / "modules" / "cpu-host").iterdir())) == 2
