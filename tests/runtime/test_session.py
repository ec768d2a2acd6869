"""Sessions on real modules: results, state, threads, tracing and forcing."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

import runtime_py
from runtime_py import Decision, DeviceError, FuelError, Session


@pytest.fixture
def session(gate_bundle: Path) -> Iterator[Session]:
    with runtime_py.load(gate_bundle, target="cpu") as session:
        yield session


def test_torch_gives_torch(session: Session) -> None:
    result = session(torch.ones(4))
    assert list(result) == ["out", "count"]
    assert torch.equal(result["out"], torch.full((4,), 2.0))
    assert result["count"] == 1


def test_numpy_gives_numpy(session: Session) -> None:
    result = session(np.ones(4, np.float32))
    assert isinstance(result["out"], np.ndarray)
    assert result["out"].dtype == np.float32
    assert result["out"].flags.writeable
    assert result["out"].tolist() == [2.0] * 4


def test_both_sides_of_the_branch_and_two_weight_sets(session: Session) -> None:
    assert session(torch.full((4,), 2.0))["out"].tolist() == [40.0] * 4
    assert session(torch.full((4,), 0.5))["out"].tolist() == [2.0] * 4


def test_arguments_of_any_layout(session: Session) -> None:
    strided = torch.arange(8.0)[::2]
    assert session(strided)["out"].tolist() == [0.0, 4.0, 8.0, 12.0]
    session.reset()
    unaligned = torch.arange(5.0)[1:]
    assert session(unaligned)["out"].tolist() == [2.0, 4.0, 6.0, 8.0]
    session.reset()
    read_only = np.ones(4, np.float32)
    read_only.flags.writeable = False
    assert session(read_only)["out"].tolist() == [2.0] * 4
    session.reset()
    assert session(torch.ones(4, requires_grad=True))["out"].requires_grad is False


def test_results_own_their_memory(session: Session) -> None:
    first = session(torch.ones(4))["out"]
    first += 100
    second = session(torch.ones(4))["out"]
    assert second.tolist() == [3.0] * 4
    assert first.tolist() == [102.0] * 4


def test_state_and_reset(session: Session) -> None:
    x = torch.ones(4)
    session(x)
    session(x)
    assert session.state["count"] == 2
    assert session.state["total"].tolist() == [5.0] * 4
    assert session.state["mode"] == "fast"
    session.state["total"].zero_()
    assert session.state["total"].tolist() == [5.0] * 4
    session.reset()
    assert session.state["count"] == 0
    assert session.state["total"].tolist() == [0.0] * 4


def test_a_refused_call_leaves_the_state_alone(session: Session) -> None:
    session(torch.ones(4))
    with pytest.raises(runtime_py.InputError):
        session(torch.ones(5))
    assert session.state["count"] == 1


def test_clone_has_its_own_state(session: Session) -> None:
    session(torch.ones(4))
    other = session.clone()
    assert other.state["count"] == 0
    other(torch.ones(4))
    other(torch.ones(4))
    assert (session.state["count"], other.state["count"]) == (1, 2)
    session.close()
    assert other(torch.ones(4))["count"] == 3


def test_eight_threads_on_one_session(session: Session) -> None:
    def call(_: int) -> int:
        return int(session(torch.ones(4))["count"])

    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(call, range(200)))
    assert sorted(counts) == list(range(1, 201))
    assert session.state["count"] == 200


def test_a_clone_for_each_thread(session: Session) -> None:
    failures: list[str] = []

    def work(own: Session, scale: float) -> None:
        for i in range(50):
            out = own(torch.full((4,), scale))["out"].tolist()
            once = 2 * scale + i
            expected = 10 * once + i if once > 3 else once
            if out != [expected] * 4:
                failures.append(f"{out} instead of {expected}")

    threads = [threading.Thread(target=work, args=(session.clone(), float(s))) for s in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_trace(session: Session) -> None:
    with session.trace() as decisions:
        session(torch.ones(4))
        session(torch.full((4,), 5.0))
    session(torch.ones(4))
    assert decisions == [Decision("gate", 0, False), Decision("gate", 0, True)]


def test_force_overrides_and_trace_sees_it(session: Session) -> None:
    with session.trace() as decisions, session.force([True]):
        out = session(torch.ones(4))["out"]
    assert out.tolist() == [20.0] * 4
    assert decisions == [Decision("gate", 0, True)]
    session.reset()
    assert session(torch.ones(4))["out"].tolist() == [2.0] * 4


def test_force_leaves_later_decisions_to_the_program(session: Session) -> None:
    with session.force([True]), session.trace() as decisions:
        session(torch.ones(4))
        session(torch.zeros(4))
    assert [d.taken for d in decisions] == [True, False]


def test_fuel_runs_out(session: Session) -> None:
    with session.force([], fuel=1):
        session(torch.ones(4))
        with pytest.raises(FuelError) as caught:
            session(torch.ones(4))
    assert caught.value.code == "RT308"
    assert session(torch.ones(4))["count"] == 2


def test_closed_session(gate_bundle: Path) -> None:
    session = runtime_py.load(gate_bundle)
    session.close()
    session.close()
    for use in (lambda: session(torch.ones(4)), session.reset, session.clone, lambda: session.state):
        with pytest.raises(DeviceError) as caught:
            use()
        assert caught.value.code == "RT306"


def test_fork_is_refused(session: Session) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            session.reset()
            code = b"none"
        except DeviceError as error:
            code = error.code.encode()
        os.write(write, code)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        assert stream.read() == b"RT305"


def test_target_names(session: Session, gate_bundle: Path) -> None:
    assert session.target == "cpu:host"
    with pytest.raises(DeviceError) as caught:
        runtime_py.load(gate_bundle, target="cuda")
    assert caught.value.code == "RT301"


def test_a_wrong_operand_is_a_device_error(session: Session) -> None:
    with pytest.raises(DeviceError) as caught:
        session._runtime.calls[2](None, None)  # type: ignore[union-attr]
    assert caught.value.code == "RT304"
    assert "'add'" in caught.value.message
