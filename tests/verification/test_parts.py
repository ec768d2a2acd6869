"""Outcomes, random inputs, guides: the parts of verification that need no bundle."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from runtime_py.errors import FuelError
from runtime_py.format import BlockSummary, FunctionSummary, Place
from toolchain.bundle.describe import describe_entry
from toolchain.frontend.entries import Call, make_entries
from toolchain.ir import Value
from toolchain.options import Dynamic, Example
from toolchain.verification.graph import BranchEdge, Graph, Guide
from toolchain.verification.inputs import InputMaker
from toolchain.verification.natural import is_subsequence
from toolchain.verification.outcomes import FORCED, NATURAL, Outcome, compare


def outcome(result: Any = None, exception: tuple[str, str] | None = None, stated: bool = True) -> Outcome:
    return Outcome(result, exception, stated, (), {})


NAN, INF = float("nan"), float("inf")
BETWEEN = "{} in eager, {} in the bundle"


@pytest.mark.parametrize(
    ("eager", "bundle", "difference"),
    [
        (torch.ones(2), torch.ones(2) + 5e-5, None),
        (torch.ones(2), torch.ones(2) + 0.5, "differs in 2 of 2 elements: " + BETWEEN.format(1, 1.5)),
        (torch.tensor([40.0, 1e-3]), torch.tensor([40.0, 1.2e-3]), None),
        (
            torch.tensor([1.0, 0.5]),
            torch.tensor([1.0, 0.25]),
            "differs in 1 of 2 elements: " + BETWEEN.format(0.5, 0.25),
        ),
        (torch.tensor([NAN, INF]), torch.tensor([NAN, INF]), None),
        (torch.tensor(INF), torch.tensor(1.0), "differs in 1 of 1 elements: " + BETWEEN.format("inf", 1)),
        (torch.ones(2), torch.ones(1, 2), "is " + BETWEEN.format("torch.float32[2]", "torch.float32[1, 2]")),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), "differs in 1 of 2 elements"),
        ((1, 2.0), [1, 2.0], "has another structure"),
        (True, 1, "is " + BETWEEN.format("bool True", "int 1")),
        (3, 4, "is " + BETWEEN.format(3, 4)),
        (0.5, 0.75, "differs in 1 of 1 elements: " + BETWEEN.format(0.5, 0.75)),
        ("loss 0.250000001", "loss 0.25", None),
        ("step 3", "step 4", "is " + BETWEEN.format("'step 3'", "'step 4'")),
    ],
)
def test_results(eager: Any, bundle: Any, difference: str | None) -> None:
    expected = [] if difference is None else [f"the result {difference}"]
    assert compare(outcome(eager), outcome(bundle)).differences == expected


def test_differences_are_placed() -> None:
    found = compare(outcome({"a": (1, torch.ones(2))}), outcome({"a": (1, torch.zeros(2))}))
    assert found.differences == ["the result['a'][1] differs in 2 of 2 elements: 1 in eager, 0 in the bundle"]
    assert found.error == 1.0


def test_exceptions() -> None:
    raised = outcome(exception=("ValueError", "too large"))
    assert compare(raised, outcome(exception=("ValueError", "too large"))).differences == []
    assert len(compare(raised, outcome(exception=("ValueError", "other"))).differences) == 1
    native = outcome(exception=("IndexError", "index 7 is out of bounds"), stated=False)
    assert compare(native, outcome(exception=("IndexError", "index out of range"))).differences == []
    assert compare(raised, outcome(3)).differences == ["eager raises ValueError: too large, the bundle returns"]


def test_forced_runs_compare_by_scale() -> None:
    eager, bundle = torch.tensor([1e6, 1.0]), torch.tensor([1e6, 30.0])
    assert compare(outcome(eager), outcome(bundle), NATURAL).differences
    assert not compare(outcome(eager), outcome(bundle), FORCED).differences


def inputs_like(*calls: tuple[Any, ...]) -> InputMaker:
    numbers = iter(range(1000))
    markers = [tuple(_marked(a) for a in call) for call in calls]
    entries = make_entries(lambda *args: args, [Call(m, {}) for m in markers], lambda t, n: Value(next(numbers), t, n))
    manifest: Any = SimpleNamespace(entries=tuple(describe_entry(entry.point) for entry in entries))
    return InputMaker(manifest, [Example(call) for call in calls])


def _marked(value: Any) -> Any:
    from toolchain.frontend import Dynamic as Marker

    return Marker(value.value) if isinstance(value, Dynamic) else value


def test_random_inputs_are_like_the_examples() -> None:
    maker = inputs_like(
        (torch.full((3, 5), 7.0), torch.tensor([2, 9, 4]), Dynamic(3), "mode"),
        (torch.full((4, 5), 7.0), torch.tensor([2, 9, 4, 4]), Dynamic(8), "mode"),
    )
    for example in maker.draw(50):
        x, ids, n, mode = example.args
        assert x.shape == (ids.shape[0], 5)
        assert 1 <= x.shape[0] <= 8
        assert bool((x == 7).all())
        assert bool(((ids >= 2) & (ids <= 9)).all())
        assert 3 <= n <= 8
        assert mode == "mode"
    assert maker.draw_entry(0, 0).args[0].shape == (0, 5)


def test_every_entry_is_drawn() -> None:
    maker = inputs_like((torch.ones(2),), (torch.ones(2), torch.ones(2)))
    assert [len(example.args) for example in maker.draw(4)] == [1, 2, 1, 2]
    assert not maker.has_varying_extents(0)


def test_subsequences() -> None:
    assert is_subsequence([1, 3], [1, 2, 3])
    assert not is_subsequence([3, 1], [1, 2, 3])
    assert not is_subsequence([1, 1], [1])


def graph(*blocks: tuple[str, tuple[int, ...]]) -> Graph:
    """kind ("data", "size" or "" for no branch) and targets of each block."""
    made = tuple(
        BlockSummary(n, Place("net.py", n + 1, "f"), False, "branch" if kind else "jump", kind, edges)  # type: ignore[arg-type]
        for n, (kind, edges) in enumerate(blocks)
    )
    manifest: Any = SimpleNamespace(functions=(FunctionSummary("f", 0, 0, made),))
    return Graph(manifest)


def test_a_guide_finds_the_way() -> None:
    """0 loops on itself (data), then 1 (data) leads to 2 or 3."""
    net = graph(("data", (0, 1)), ("data", (2, 3)), ("", ()), ("", ()))
    guide = Guide(net, BranchEdge("f", 1, False), fuel=10)
    assert [guide.decide("f", 0, True), guide.decide("f", 1, True)] == [False, False]
    assert guide.reached
    assert guide.decide("f", 0, True)


def test_a_guide_goes_around_a_loop_to_come_back() -> None:
    net = graph(("data", (1, 2)), ("data", (0, 0)), ("", ()))
    guide = Guide(net, BranchEdge("f", 1, True), fuel=10)
    assert guide.decide("f", 0, False)
    assert guide.decide("f", 1, False)
    assert guide.reached


def test_a_guide_follows_sizes() -> None:
    net = graph(("size", (1, 2)), ("data", (2, 2)), ("", ()))
    guide = Guide(net, BranchEdge("f", 1, True), fuel=10)
    assert not guide.decide("f", 0, False)
    assert (guide.led_away, guide.reached) == (("f", 0), False)


def test_a_guide_leaves_fixed_places_alone() -> None:
    net = graph(("data", (1, 2)), ("data", (2, 2)), ("", ()))
    guide = Guide(net, BranchEdge("f", 1, True), 10, [("net.py", 1, "f")])
    assert not guide.decide("f", 0, False)
    assert (guide.led_away, guide.forced) == (("f", 0), [])


def test_a_guide_runs_out_of_fuel() -> None:
    guide = Guide(graph(("data", (0, 1)), ("", ())), BranchEdge("f", 0, True), fuel=2)
    assert guide.decide("f", 0, False)
    assert guide.decide("f", 0, True)
    with pytest.raises(FuelError, match="RT308"):
        guide.decide("f", 0, True)
