"""What host programs can do besides calling modules: structures, changes in place, errors, entries, states."""

from __future__ import annotations

import collections
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

import runtime_py
from runtime_py import BundleError, InputError
from tests.runtime.support import entry, leaf, scalar, signature, tensor, write_plain
from toolchain.ir import Constant, InputLeaf, Leaf, Object, State, StateSlot, TensorType
from toolchain.ir import Sequence as SequenceNode

Pair = collections.namedtuple("Pair", ["left", "right"])


@dataclass
class Box:
    content: torch.Tensor
    label: str


class Plain:
    def __init__(self) -> None:
        raise AssertionError("results are made without __init__")


def vector(name: str = "x", dtype: str = "float32") -> InputLeaf:
    return tensor(name, dtype, None)


def test_user_classes_come_back(tmp_path: Path) -> None:
    host = f"""
def f(rt, x):
    module = {__name__!r}
    return (
        rt.make("namedtuple", module, "Pair", {{"left": x, "right": 1}}),
        rt.make("dataclass", module, "Box", {{"content": x, "label": "a"}}),
        rt.make("plain", module, "Plain", {{"x": [x]}}),
        rt.make("namedtuple", "no_such_module", "Out.Gone", {{"x": x}}),
        {{1, 2}}, None,
    )

FUNCTIONS = {{(0, 0): f}}
"""
    session = runtime_py.load(write_plain(tmp_path / "b", host, entry(signature(leaf()), vector())))
    pair, box, plain, gone, numbers, nothing = session(torch.ones(2))
    assert isinstance(pair, Pair)
    assert torch.equal(pair.left, torch.ones(2))
    assert isinstance(box, Box)
    assert torch.equal(box.content, torch.ones(2))
    assert isinstance(plain, Plain)
    assert torch.equal(plain.x[0], torch.ones(2))  # type: ignore[attr-defined]
    assert type(gone).__qualname__ == "Out.Gone"
    assert gone._fields == ("x",)
    assert numbers == {1, 2}
    assert nothing is None


def test_identity_does_not_alias(tmp_path: Path) -> None:
    host = "def f(rt, x):\n    return x, x\n\nFUNCTIONS = {(0, 0): f}\n"
    session = runtime_py.load(write_plain(tmp_path / "b", host, entry(signature(leaf()), vector())))
    for x in (torch.zeros(2000), np.zeros(2000, np.float32)):
        first, second = session(x)
        first += 1
        assert float(x.sum()) == 0
        assert float(second.sum()) == 0


MUTATES = """
def f(rt, a, b):
    rt.commit(0, (), ((0, b), (1, a)))
    return a

FUNCTIONS = {(0, 0): f}
"""


@pytest.mark.parametrize("make", [torch.tensor, lambda v: np.array(v, np.float32)], ids=["torch", "numpy"])
def test_arguments_change_in_place(tmp_path: Path, make: object) -> None:
    out = write_plain(tmp_path / "b", MUTATES, entry(signature(leaf(0), leaf(1)), vector("a"), vector("b")))
    a, b = make([1.0, 2.0]), make([3.0, 4.0])  # type: ignore[operator]
    result = runtime_py.load(out)(a, b)
    assert (a.tolist(), b.tolist(), result.tolist()) == ([3.0, 4.0], [1.0, 2.0], [1.0, 2.0])


def test_strided_argument_changes_in_place(tmp_path: Path) -> None:
    out = write_plain(tmp_path / "b", MUTATES, entry(signature(leaf(0), leaf(1)), vector("a"), vector("b")))
    base = torch.zeros(4)
    runtime_py.load(out)(base[::2], torch.ones(2))
    assert base.tolist() == [1.0, 0.0, 1.0, 0.0]


def test_in_place_change_of_shape_is_refused(tmp_path: Path) -> None:
    out = write_plain(tmp_path / "b", MUTATES, entry(signature(leaf(0), leaf(1)), vector("a"), vector("b")))
    a, b = torch.ones(2), torch.zeros(3)
    with pytest.raises(InputError, match="argument 'a' would change from") as caught:
        runtime_py.load(out)(a, b)
    assert caught.value.code == "RT205"
    assert b.tolist() == [0.0] * 3


def test_the_programs_own_exception_keeps_its_changes(tmp_path: Path) -> None:
    host = """
from runtime_py import hostops as ops

def f(rt, count, x):
    rt.commit(0, (count + 1,), ())
    ops.check(ops.item(x) > 0, "ValueError", "must be positive")
    return count

FUNCTIONS = {(0, 0): f}
"""
    state = State((StateSlot("count", scalar("").type),))
    out = write_plain(
        tmp_path / "b", host, entry(signature(leaf()), tensor("x", "float32")), states=(state,), initial_state=(5,)
    )
    session = runtime_py.load(out)
    with pytest.raises(ValueError, match=r"^must be positive$") as caught:
        session(torch.tensor(-1.0))
    assert type(caught.value) is ValueError
    assert session.state["count"] == 6
    assert session(torch.tensor(1.0)) == 6


def test_states_select_functions(tmp_path: Path) -> None:
    host = """
def first(rt, x):
    rt.commit(1, (x,), ())
    return 0

def later(rt, cache, x):
    rt.commit(1, (x,), ())
    return cache

FUNCTIONS = {(0, 0): first, (0, 1): later}
"""
    cached = State((StateSlot("cache", TensorType("float32", (None,))),))
    states = (State((), (("cache", None),)), cached)
    session = runtime_py.load(write_plain(tmp_path / "b", host, entry(signature(leaf()), vector()), states=states))
    assert session.state == {"cache": None}
    x = torch.ones(1500)
    assert session(x) == 0
    x.zero_()  # what became state must not follow
    assert float(session(torch.zeros(2)).sum()) == 1500
    assert session.state["cache"].tolist() == [0.0, 0.0]


def test_constants_by_name(tmp_path: Path) -> None:
    host = """
def f(rt, w, empty):
    return rt.constants["w"], rt.constants["w"], empty

FUNCTIONS = {(0, 0): f}
"""
    constants = {"w": torch.arange(6).reshape(2, 3), "empty": torch.ones(0, 3)}
    kinds = {name: Constant(name, TensorType("int64", ())) for name in constants}
    out = write_plain(
        tmp_path / "b",
        host,
        entry(signature()),
        constants=constants,
        states=(State(tuple(StateSlot(n, c.type) for n, c in kinds.items())),),
        initial_state=tuple(kinds.values()),
    )
    session = runtime_py.load(out)
    first, second, empty = session()
    first.zero_()
    assert torch.equal(second, constants["w"])
    assert torch.equal(session()[0], constants["w"])
    assert torch.equal(empty, constants["empty"])
    assert torch.equal(session.state["w"], constants["w"])


ENTRIES = "FUNCTIONS = {(i, 0): (lambda i: lambda rt, *inputs: (i, inputs))(i) for i in range(4)}\n"


@pytest.fixture
def entries(tmp_path: Path) -> runtime_py.Session:
    pair = Object("namedtuple", __name__, "Pair", ("left", "right"), (leaf(), Leaf(None)))
    out = write_plain(
        tmp_path / "b",
        ENTRIES,
        entry(signature(leaf(), mode=Leaf("fast")), tensor("x", "float32", 2, (1, 8)), name="fast"),
        entry(signature(leaf(), mode=Leaf(2.0)), tensor("x", "float32", 2, (1, 8)), name="two"),
        entry(
            signature(SequenceNode("list", (leaf(), leaf()))), tensor("ids", "int64", None), scalar("n"), name="list"
        ),
        entry(signature(pair), vector("left"), name="pair"),
    )
    return runtime_py.load(out)


def test_entries_are_chosen_by_structure_and_constants(entries: runtime_py.Session) -> None:
    x = torch.ones(2, 3)
    assert entries(x, mode="fast")[0] == 0
    assert entries(x, mode=2.0)[0] == 1
    index, (ids, n) = entries([torch.arange(3), 7])
    assert (index, ids.tolist(), n) == (2, [0, 1, 2], 7)
    assert entries(Pair(torch.ones(1), None))[0] == 3


@pytest.mark.parametrize(
    ("args", "kwargs", "code", "text"),
    [
        ((torch.ones(2, 3),), {"mode": "slow"}, "RT204", "keyword 'mode': expected the constant"),
        ((torch.ones(2, 3),), {"mode": 2}, "RT204", "found int 2"),
        (
            (torch.ones(2, 9),),
            {"mode": "fast"},
            "RT203",
            "argument 0 'x': expected extent 1 to 8 in dimension 1, found 9",
        ),
        ((torch.ones(3, 2),), {"mode": "fast"}, "RT203", "argument 0 'x': expected extent 2 in dimension 0, found 3"),
        ((torch.ones(2),), {"mode": "fast"}, "RT203", "argument 0 'x': expected 2 dimensions, found 1"),
        ((torch.ones(2, 3).double(),), {"mode": "fast"}, "RT202", "argument 0 'x': expected float32, found float64"),
        (([torch.arange(3), 7.0],), {}, "RT202", "argument 0[1] 'n': expected a Python int, found float 7.0"),
        (([torch.arange(3), True],), {}, "RT202", "argument 0[1] 'n': expected a Python int, found bool True"),
        (([torch.arange(3), 2**63],), {}, "RT202", "does not fit 64 bits"),
        ((Pair(torch.ones(1), 3),), {}, "RT201", "argument 0.right: expected the constant None"),
        ((torch.ones(2, 3).to_sparse(),), {"mode": "fast"}, "RT202", "expected a dense tensor"),
        (([1],), {}, "RT201", "expected 2 elements, found 1"),
        ((1, 2, 3), {}, "RT201", "expected 1 positional, found 3"),
        ((), {"other": 1}, "RT201", "expected 1 positional, found 0"),
        (("text",), {"mode": "fast"}, "RT201", "argument 0 'x': expected a tensor, found str 'text'"),
    ],
)
def test_calls_that_fit_no_entry(
    entries: runtime_py.Session, args: tuple[object, ...], kwargs: dict[str, object], code: str, text: str
) -> None:
    with pytest.raises(InputError) as caught:
        entries(*args, **kwargs)
    assert text in caught.value.message
    assert caught.value.code == code


@pytest.mark.parametrize("host", ["FUNCTIONS = 1 / 0\n", "x = 1\n", "def f(:\n"])
def test_host_program_that_fails_to_load(tmp_path: Path, host: str) -> None:
    out = write_plain(tmp_path / "b", host, entry(signature()))
    with pytest.raises(BundleError) as caught:
        runtime_py.load(out)
    assert caught.value.code == "RT106"


def test_missing_function_is_coded(tmp_path: Path) -> None:
    session = runtime_py.load(write_plain(tmp_path / "b", "FUNCTIONS = {}\n", entry(signature())))
    with pytest.raises(BundleError) as caught:
        session()
    assert caught.value.code == "RT106"
