"""``toolchain targets``: what compiles here and what runs here."""

from __future__ import annotations

import json

import pytest

from toolchain.cli.main import main


def test_targets(vulkan: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", "--json"]) == 0
    found = {t["name"]: t for t in json.loads(capsys.readouterr().out)["targets"]}
    assert all(t["compiles"] for t in found.values())
    runs = {name: found[name]["runs"] for name in ("cpu", "cpu:generic", "cpu:aarch64", vulkan, "vulkan:adreno")}
    assert runs == {"cpu": True, "cpu:generic": True, "cpu:aarch64": False, vulkan: True, "vulkan:adreno": None}
    assert found["vulkan"]["device"]
