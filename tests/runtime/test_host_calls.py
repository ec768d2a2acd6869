"""Functions that a bundle calls: found, replaced, checked; their exceptions; what the bundle says of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import runtime_py
from runtime_py.format import HostCall, ValueType
from toolchain.cli.main import main

NAME = "host_call_speller:spell"
SPELLER = """
import torch
import toolchain


class Unreadable(ValueError):
    pass


@toolchain.host_call
def spell(ids, separator=" "):
    if not len(ids):
        raise Unreadable("no ids")
    return separator.join("abcd"[i] for i in ids.tolist()), ids[ids > 0]


class Net(torch.nn.Module):
    def forward(self, x):
        text, ids = spell(x.argmax(1), separator="-")
        return (text, ids + 1) if ids.shape[0] > 1 else ("short", ids)


def model():
    return Net().eval()


def example_inputs():
    return (torch.eye(4),)


def inputs():
    return [(torch.eye(4)[:2],), (torch.zeros(0, 4),)]
"""


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("speller") / "host_call_speller.py"
    path.write_text(SPELLER)
    yield path
    sys.modules.pop(path.stem, None)
    sys.path.remove(str(path.parent))


@pytest.fixture(scope="module")
def bundle(model_file: Path) -> Path:
    out = model_file.parent / "net.bundle"
    assert main(["build", str(model_file), "-o", str(out)]) == 0
    return out


def test_functions_are_imported_and_their_exceptions_are_their_own(bundle: Path) -> None:
    with runtime_py.load(bundle) as session:
        text, ids = session(torch.eye(4)[[3, 0, 2]])
        assert (text, ids.tolist()) == ("d-a-c", [4, 3])
        assert session(torch.eye(4)[[0, 1]])[0] == "short"
        with pytest.raises(sys.modules["host_call_speller"].Unreadable, match="no ids"):
            session(torch.zeros(0, 4))
        assert session.clone()(np.eye(4, dtype=np.float32))[1].tolist() == [2, 3, 4]


def test_functions_can_be_given(bundle: Path) -> None:
    def spell(ids: np.ndarray, separator: str) -> tuple[str, np.ndarray]:
        assert type(ids) is np.ndarray
        assert not ids.flags.writeable
        return f"{len(ids)}{separator}", np.repeat(ids, 2)

    with runtime_py.load(bundle, host_calls={NAME: spell}) as session:
        text, ids = session(np.eye(4, dtype=np.float32))
        assert (text, ids.tolist()) == ("4-", [1, 1, 2, 2, 3, 3, 4, 4])


@pytest.mark.parametrize("given", [lambda ids, separator: "text", lambda ids, separator: ("", ids.astype(np.int32))])
def test_something_else_at_run_time(given: object, bundle: Path) -> None:
    with (
        runtime_py.load(bundle, host_calls={NAME: given}) as session,  # type: ignore[dict-item]
        pytest.raises(
            runtime_py.DeviceError, match=rf"host call {NAME} gave .*, expected \(str, int64\[\?\]\)"
        ) as caught,
    ):
        session(torch.eye(4))
    assert caught.value.code == "RT309"


def test_a_function_may_use_another_session_but_not_its_own(bundle: Path) -> None:
    def spell(ids: np.ndarray, separator: str) -> tuple[str, np.ndarray]:
        return f"inner {inner(np.eye(4, dtype=np.float32)[:3])[0]}", ids

    def again(ids: np.ndarray, separator: str) -> tuple[str, np.ndarray]:
        session.reset()
        return "", ids

    with runtime_py.load(bundle) as inner, runtime_py.load(bundle, host_calls={NAME: spell}) as session:
        text, ids = session(torch.eye(4))
        assert (text, ids.tolist()) == ("inner a-b-c", [1, 2, 3, 4])
    with (
        runtime_py.load(bundle, host_calls={NAME: again}) as session,
        pytest.raises(runtime_py.DeviceError) as caught,
    ):
        session(torch.eye(4))
    assert caught.value.code == "RT310"


def test_functions_that_are_not_there(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(runtime_py.BundleError, match="does not call other") as caught:
        runtime_py.load(bundle, host_calls={"other": print})
    assert caught.value.code == "RT107"
    monkeypatch.delattr(sys.modules["host_call_speller"], "spell")
    with pytest.raises(runtime_py.BundleError, match=f"calls {NAME}, which cannot be imported") as caught:
        runtime_py.load(bundle)
    assert caught.value.code == "RT107"
    monkeypatch.setattr(sys.modules["host_call_speller"], "spell", 3, raising=False)
    with pytest.raises(runtime_py.BundleError, match="which is a int"):
        runtime_py.load(bundle)


def test_neither_torch_nor_the_toolchain_is_needed(bundle: Path) -> None:
    script = f"""
import sys, numpy as np, runtime_py
session = runtime_py.load(sys.argv[1], host_calls={{"{NAME}": lambda ids, separator: ("text", ids)}})
print(session(np.eye(4, dtype=np.float32)))
print(sorted({{name.partition(".")[0] for name in sys.modules}} & {{"torch", "toolchain"}}))
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script, bundle], capture_output=True, text=True, cwd=root)
    assert (done.stdout, done.stderr) == ("('text', array([1, 2, 3, 4]))\n[]\n", "")


def test_what_the_bundle_says(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids, text = ValueType("tensor", "int64", (None,)), ValueType("str")
    with runtime_py.load(bundle) as session:
        assert session.manifest.host_calls == (HostCall(NAME, "tuple", (ids, text), ("separator",), (text, ids)),)
    assert (
        f"# host_calls[0]: {NAME}(tensor<?xint64>, separator=str) -> (str, tensor<?xint64>)"
        in (bundle / "host/python/program.py").read_text()
    )
    assert main(["inspect", str(bundle)]) == 0
    assert f"{NAME}  int64[?], separator=str  (str, int64[?])" in capsys.readouterr().out
    assert main(["inspect", str(bundle), "--json"]) == 0
    described = {"function": NAME, "takes": "int64[?], separator=str", "gives": "(str, int64[?])"}
    assert json.loads(capsys.readouterr().out)["host_calls"] == [described]


def test_run_and_verify_use_the_functions_of_the_model_file(
    bundle: Path, model_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(bundle), "--model", str(model_file)]) == 0
    assert capsys.readouterr().out.count("as recorded") == 3
    assert main(["verify", str(bundle), str(model_file), "--random", "5", "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["ok"], verdict["edges"], verdict["edges_covered"]) == (True, 2, 2)
