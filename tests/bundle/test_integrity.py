"""Damaged bundles are refused with a code, before anything runs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runtime_py
from runtime_py import BundleError
from runtime_py.decode import decode
from runtime_py.format import MANIFEST, Manifest
from runtime_py.integrity import contained, digest
from toolchain.bundle import encode_manifest, manifest_schema

FILES = ["modules/cpu-host/step.vmfb", "modules/cpu-host/add.vmfb", "params/model.irpa", "host/python/program.py"]


def code_of(bundle: Path, **options: Any) -> str:
    with pytest.raises(BundleError) as caught:
        runtime_py.load(bundle, **options)
    return caught.value.code


@pytest.mark.parametrize("name", [*FILES, MANIFEST])
def test_one_flipped_bit(gate_bundle_copy: Path, name: str) -> None:
    data = bytearray((gate_bundle_copy / name).read_bytes())
    data[len(data) // 2] ^= 1
    (gate_bundle_copy / name).write_bytes(data)
    assert code_of(gate_bundle_copy) in (("RT102", "RT104") if name == MANIFEST else ("RT104",))


@pytest.mark.parametrize("verify_hashes", [True, False])
@pytest.mark.parametrize("name", FILES)
def test_truncated(gate_bundle_copy: Path, name: str, verify_hashes: bool) -> None:
    os.truncate(gate_bundle_copy / name, 20)
    assert code_of(gate_bundle_copy, verify_hashes=verify_hashes) == "RT104"


@pytest.mark.parametrize("name", FILES)
def test_missing(gate_bundle_copy: Path, name: str) -> None:
    (gate_bundle_copy / name).unlink()
    assert code_of(gate_bundle_copy) == "RT104"


@pytest.mark.parametrize("name", FILES)
def test_folder_instead_of_a_file(gate_bundle_copy: Path, name: str) -> None:
    (gate_bundle_copy / name).unlink()
    (gate_bundle_copy / name).mkdir()
    assert code_of(gate_bundle_copy) == "RT104"


def test_files_that_are_not_listed_do_no_harm(gate_bundle_copy: Path) -> None:
    (gate_bundle_copy / "host" / "build").mkdir()
    (gate_bundle_copy / "host" / "build" / "a.out").write_bytes(b"x")
    runtime_py.load(gate_bundle_copy).close()


def test_links_inside_are_followed_and_links_out_refused(gate_bundle_copy: Path, tmp_path: Path) -> None:
    program = gate_bundle_copy / "host/python/program.py"
    inside = gate_bundle_copy / "elsewhere.py"
    program.rename(inside)
    program.symlink_to(inside)
    runtime_py.load(gate_bundle_copy).close()
    program.unlink()
    inside.rename(tmp_path / "outside.py")
    program.symlink_to(tmp_path / "outside.py")
    assert code_of(gate_bundle_copy) == "RT105"
    program.unlink()
    program.symlink_to("program.py")
    assert code_of(gate_bundle_copy) == "RT105"


def test_a_bundle_may_itself_be_reached_by_a_link(gate_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(gate_bundle)
    runtime_py.load(tmp_path / "link").close()


@pytest.mark.parametrize("kind", ["missing", "empty folder", "file"])
def test_no_bundle(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "b"
    if kind == "empty folder":
        path.mkdir()
    if kind == "file":
        path.write_text("")
    assert code_of(path) == "RT101"


_NOT_A_MODULE = b"a module of another kind" * 8


def rewrite(bundle: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes the manifest's tree, and makes its digest right again."""
    tree = json.loads((bundle / MANIFEST).read_text())
    change(tree)
    tree["digest"] = "0" * 64
    data = json.dumps(tree).encode()
    (bundle / MANIFEST).write_bytes(data.replace(b"0" * 64, digest(data, "0" * 64).encode(), 1))


def set_path(path: str) -> Callable[[dict[str, Any]], None]:
    return lambda tree: tree["files"][0].update(path=path)


@pytest.mark.parametrize("path", ["/etc/hostname", "../copy.bundle/manifest.json", "host/../host/x", "", ".", "a/./b"])
def test_paths_that_lead_out(gate_bundle_copy: Path, path: str) -> None:
    rewrite(gate_bundle_copy, set_path(path))
    assert code_of(gate_bundle_copy) in ("RT104", "RT105")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda t: t.update(format_version=2), "RT103"),
        (lambda t: t.update(surprise=1), "RT102"),
        (lambda t: t.pop("entries"), "RT102"),
        (lambda t: t.update(targets="cpu"), "RT102"),
        (lambda t: t.update(format_version=True), "RT102"),
        (lambda t: t["modules"][0].update(parameters=["tensor", "i32"]), "RT102"),
        (lambda t: t["modules"][0].update(function="absent"), "RT102"),
        (lambda t: t["modules"][0].update(files={}), "RT102"),
        (lambda t: t["instances"][0].update(module="absent"), "RT102"),
        (lambda t: t["instances"][0].update(weights=["absent"]), "RT102"),
        (lambda t: t["params"]["weights"][0].update(offset=10**9), "RT102"),
        (lambda t: t["params"]["weights"][0].update(offset=-64), "RT102"),
        (lambda t: t.update(params=None), "RT102"),
        (lambda t: t.update(hosts=[]), "RT106"),
    ],
)
def test_manifests_that_do_not_fit(gate_bundle_copy: Path, change: Callable[[dict[str, Any]], None], code: str) -> None:
    rewrite(gate_bundle_copy, change)
    assert code_of(gate_bundle_copy) == code


def test_a_module_that_is_none(gate_bundle_copy: Path) -> None:
    """What another release of IREE has compiled looks like this to its runtime."""

    def describe(tree: dict[str, Any]) -> None:
        for module in tree["modules"]:
            for file in module["files"].values():
                (gate_bundle_copy / file["path"]).write_bytes(_NOT_A_MODULE)
                file.update(sha256=hashlib.sha256(_NOT_A_MODULE).hexdigest(), size=len(_NOT_A_MODULE))

    rewrite(gate_bundle_copy, describe)
    with pytest.raises(runtime_py.SessionError) as caught:
        runtime_py.load(gate_bundle_copy)
    assert caught.value.code == "RT303"


def test_deep_nesting_is_refused(gate_bundle_copy: Path) -> None:
    def nest(tree: dict[str, Any]) -> None:
        node: dict[str, Any] = {"kind": "tuple"}
        for _ in range(150):
            node = {"kind": "tuple", "items": [node]}
        tree["entries"][0]["signature"] = node

    rewrite(gate_bundle_copy, nest)
    assert code_of(gate_bundle_copy) == "RT102"
    (gate_bundle_copy / MANIFEST).write_text("[" * 100_000)
    assert code_of(gate_bundle_copy) == "RT102"


def test_text_that_is_not_json() -> None:
    for data in (b"", b"{", b"\xff\xfe", b"[NaN]", b"null", b"[]"):
        with pytest.raises(BundleError) as caught:
            decode(data, Manifest, "text")
        assert caught.value.code == "RT102"


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_change_of_the_manifest_is_noticed(gate_bundle: Path, tmp_path: Path, data: st.DataObject) -> None:
    text = bytearray((gate_bundle / MANIFEST).read_bytes())
    at = data.draw(st.integers(0, len(text) - 1))
    text[at] = data.draw(st.integers(0, 255).filter(lambda b: b != text[at]))
    (tmp_path / MANIFEST).write_bytes(text)
    assert code_of(tmp_path) in ("RT102", "RT103", "RT104")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_value_anywhere_is_decoded_or_refused(gate_bundle: Path, data: st.DataObject) -> None:
    tree = json.loads((gate_bundle / MANIFEST).read_text())
    node: Any = tree
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        child = node[key]
        if not isinstance(child, (dict, list)) or not child or data.draw(st.booleans()):
            break
        node = child
    node[key] = data.draw(JSON)
    assert decoded_or_code(json.dumps(tree).encode()) in ("decoded", "RT102")


def decoded_or_code(data: bytes) -> str:
    try:
        manifest = decode(data, Manifest, MANIFEST)
    except BundleError as error:
        return error.code
    assert decode(encode_manifest(manifest), Manifest, MANIFEST).modules == manifest.modules
    return "decoded"


def test_encoding_and_decoding_are_inverse(gate_bundle: Path) -> None:
    data = (gate_bundle / MANIFEST).read_bytes()
    assert encode_manifest(decode(data, Manifest, MANIFEST)) == data


def test_schema_names_every_field() -> None:
    schema = json.loads(manifest_schema())
    assert set(schema["$defs"]["Manifest"]["properties"]) == set(Manifest.__dataclass_fields__)
    assert schema["$defs"]["Tree"]["properties"]["items"]["items"] == {"$ref": "#/$defs/Tree"}


def test_names_that_are_fine(tmp_path: Path) -> None:
    assert contained(tmp_path, "a/b-c/..d") == tmp_path / "a/b-c/..d"
