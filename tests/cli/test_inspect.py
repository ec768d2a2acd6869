"""``inspect``: the sizes and the blocks of a bundle, from its manifest alone."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from runtime_py.format import (
    FORMAT_VERSION,
    MANIFEST,
    BlockSummary,
    Entry,
    FunctionSummary,
    Host,
    Instance,
    Manifest,
    Module,
    ModuleFile,
    Params,
    Place,
    State,
    Tree,
    Versions,
)
from runtime_py.integrity import digest
from toolchain.cli.main import main

ZEROS = "0" * 64


def a_module(name: str) -> Module:
    files = {target: ModuleFile(f"modules/{target}/{name}.vmfb", 7, ZEROS) for target in ("cpu:host", "cpu:generic")}
    return Module(name, "main", (), ("tensor",), (), files)


def a_manifest() -> Manifest:
    """A loop over one module and a way out through another, the first with two sets of weights."""
    blocks = (
        BlockSummary(0, Place("net.py", 3, "forward"), False, "jump", edges=(1,)),
        BlockSummary(1, Place("net.py", 4, "forward"), True, "branch", "data", (2, 3), (0, 1)),
        BlockSummary(2, Place("net.py", 5), False, "branch", "size", (1, 3)),
        BlockSummary(3, Place("net.py", 6), False, "return", calls=(2,)),
    )
    return Manifest(
        format_version=FORMAT_VERSION,
        digest=ZEROS,
        name="net",
        versions=Versions("0", "0", "0", "0"),
        targets=("cpu:host", "cpu:generic"),
        entries=(Entry("main", Tree("tuple"), ()),),
        states=(State(),),
        initial_state=(),
        modules=(a_module("a"), a_module("b")),
        instances=(Instance("a", ("w",)), Instance("a", ("v",)), Instance("b", ())),
        params=Params("params/model.irpa", 1000, ZEROS, ()),
        functions=(FunctionSummary("main", 0, 0, blocks),),
        hosts=(Host("cpp", (), 99), Host("python", (), 42)),
        tests=(),
        files=(),
    )


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    data = msgspec.json.encode(a_manifest())
    (tmp_path / MANIFEST).write_bytes(data.replace(ZEROS.encode(), digest(data, ZEROS).encode(), 1))
    (tmp_path / "other").write_bytes(b"12345")
    return tmp_path


def test_the_promised_keys(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(bundle), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    wanted = {"executables": 2, "subgraphs": 3, "blocks": 4, "decisions": 2, "loops": 1, "host_lines": 42}
    wanted["bytes"] = (bundle / MANIFEST).stat().st_size + 5
    assert {key: shown[key] for key in wanted} == wanted
    assert shown["weight_bytes"] == 1000
    assert shown["hosts"] == {"cpp": 99, "python": 42}


def test_every_block_has_a_line_with_its_source(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(bundle)]) == 0
    assert capsys.readouterr().out.split("\n\n")[1].splitlines() == [
        "main: entry main, state 0",
        "block     source               calls  goes to",
        "0         net.py:3 in forward         1",
        "1 (loop)  net.py:4 in forward  0 1    2 if true, 3 if false",
        "2         net.py:5                    1 if true, 3 if false (size)",
        "3         net.py:6             2      return",
    ]


def test_stored_graphs_are_printed(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(bundle), "--cfg", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "TC226"
    (bundle / "debug").mkdir()
    (bundle / "debug/cfg.txt").write_text("the graph\n")
    assert main(["inspect", str(bundle), "--cfg"]) == 0
    assert capsys.readouterr().out == "the graph\n"


def test_what_is_no_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(tmp_path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["code"] == "RT101"
