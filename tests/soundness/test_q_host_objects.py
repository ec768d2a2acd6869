"""Rule Q: functions of the standard library on values of the host are called by the host program itself, in order."""

from __future__ import annotations

import hashlib
import json
import re
import statistics
import struct
import zlib

import pytest
import torch

from hostgen import cpp, vm
from tests.soundness.harness import check, randint, refused
from toolchain.diagnostics import UnsupportedModelError
from toolchain.frontend import Call, explore
from toolchain.passes import run_pipeline


def test_what_the_program_would_catch_is_refused():
    def program(x):
        try:
            raw = bytes(x.tolist())
        except ValueError:
            return -1
        return len(raw)

    refused(program, randint(0, 300, 4), "TC165")


def test_compression_decides():
    def program(x):
        raw = bytes(x.tolist())
        ratio = len(raw) / len(zlib.compress(raw))
        return ("repetitive", ratio) if ratio > 0.9 else ("fine", ratio)

    check(program, [*randint(0, 2, 24), *randint(0, 250, 24)])


def test_chains_of_methods():
    def program(x):
        digest = hashlib.md5(bytes(x.tolist())).hexdigest()
        return x * int(digest[:2], 16), digest.startswith("a") or len(digest)

    check(program, randint(0, 9, 4), "any")


def test_bytes_that_grow_in_a_loop():
    def program(x):
        out = b""
        raw = bytes(x.tolist())
        for i in range(6):
            if x[i] > 4:
                raw = raw + bytes([i])
        return len(raw), zlib.crc32(raw) % 7 == 0, int(zlib.crc32(raw)), out == b""

    check(program, randint(0, 9, 6))


def test_a_match_may_be_none():
    def program(x):
        found = re.match(r"-\d", str(x[0].item()))
        return "negative" if found is not None else "other"

    check(program, randint(-5, 5, 2))


def test_what_a_library_raises():
    def program(x):
        return float(statistics.stdev(x[x > 0].tolist()))

    check(program, [(torch.tensor(v),) for v in ([1.0, 2.0, 4.0], [1.0, -1.0], [3.0, 3.5])], torch_texts=True)


def test_keywords_and_tuples():
    def program(x):
        a, b = x.tolist()
        text = json.dumps([a, b], separators=(",", ":"))
        return len(text), len(struct.pack("<q", a))

    check(program, randint(0, 99, 2))


def test_what_cannot_leave_is_refused():
    refused(lambda x: zlib.compress(bytes(x.tolist())), randint(0, 9, 4), "TC170")


def test_other_native_code_is_refused():
    def program(x):
        return memoryview(bytes(x.tolist())).nbytes

    refused(program, randint(0, 9, 4), "TC160")


def bytes_of(x):
    return len(bytes(x[0].tolist()))


def nested_lists(x):
    return x.tolist()


@pytest.mark.parametrize(
    ("host", "code", "program"), [(cpp, "TC172", bytes_of), (vm, "TC171", bytes_of), (vm, "TC171", nested_lists)]
)
def test_other_hosts_refuse(host, code, program):
    calls = [Call(args, {}) for args in (*randint(0, 9, 2, 3, count=1), *randint(0, 9, 3, 3, count=1))]
    with pytest.raises(UnsupportedModelError) as refusal:
        host.generate(run_pipeline(explore(program, calls)))
    assert {p.code for p in refusal.value.problems} == {code}
