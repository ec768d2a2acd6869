from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolchain.diagnostics import UsageError
from toolchain.lowering import Cache
from toolchain.lowering.cache import CacheEntry, CacheKey, default_directory

KEY = CacheKey("text", "cpu:host model", ("--flag",), ("torch=1",))


@dataclass
class Store:
    cache: Cache

    def put(self, key: CacheKey, content: bytes) -> CacheEntry:
        with self.cache.scratch() as scratch:
            file = Path(scratch) / "module.vmfb"
            file.write_bytes(content)
            return self.cache.put(key, file)


@pytest.fixture
def make(tmp_path: Path) -> Callable[[], Store]:
    return lambda: Store(Cache(tmp_path))


def test_what_goes_in_comes_out(make: Callable[[], Store]) -> None:
    store = make()
    assert store.cache.get(KEY) is None
    entry = store.put(KEY, b"module")
    assert make().cache.get(KEY) == entry
    assert entry.path.read_bytes() == b"module"
    assert entry.size == 6
    assert list(store.cache.directory.rglob(".scratch-*")) == []


@pytest.mark.parametrize("field", ["subgraph", "target", "flags", "versions"])
def test_every_input_matters(field: str) -> None:
    value = getattr(KEY, field)
    other = msgspec.structs.replace(KEY, **{field: (*value, "x") if isinstance(value, tuple) else value + "x"})
    assert other.digest() != KEY.digest()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.binary(max_size=40), st.integers(0, 39))
def test_damage_is_a_miss(make: Callable[[], Store], content: bytes, where: int) -> None:
    store = make()
    entry = store.put(KEY, content)
    damaged = bytearray(content + b"!")
    damaged[min(where, len(content))] ^= 1
    entry.path.write_bytes(bytes(damaged))
    assert store.cache.get(KEY) is None
    assert store.put(KEY, content).sha256 == entry.sha256
    assert store.cache.get(KEY) == entry


def test_records_hold_the_key(make: Callable[[], Store]) -> None:
    entry = make().put(KEY, b"module")
    record = msgspec.json.decode(entry.path.with_suffix(".json").read_bytes())
    assert record["key"] == {
        "subgraph": "text",
        "target": "cpu:host model",
        "flags": ["--flag"],
        "versions": ["torch=1"],
    }


def test_info_prune_and_clear(make: Callable[[], Store]) -> None:
    store = make()
    keys = [CacheKey(str(i), "", (), ()) for i in range(4)]
    entries = [store.put(key, bytes(1000)) for key in keys]
    for age, entry in enumerate(entries):
        os.utime(entry.path.with_suffix(".json"), (1000 - age, 1000 - age))
    assert store.cache.get(keys[3]) is not None
    info = store.cache.info()
    assert info.entries == 4
    assert store.cache.prune(info.bytes) == 0
    assert store.cache.prune(info.bytes - 1) == 1
    # The oldest but for the one just used.
    assert [store.cache.get(key) is None for key in keys] == [False, False, True, False]
    assert store.cache.clear().entries == 3
    assert store.cache.info().bytes == 0


def test_environment_names_the_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOOLCHAIN_CACHE_DIR", str(tmp_path))
    assert default_directory() == tmp_path
    monkeypatch.delenv("TOOLCHAIN_CACHE_DIR")
    assert default_directory().name == "dynn-toolchain"


def test_unusable_directory(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(UsageError, match="TOOLCHAIN_CACHE_DIR") as caught:
        Cache(file)
    assert caught.value.code == "TC212"
