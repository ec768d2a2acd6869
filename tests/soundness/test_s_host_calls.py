"""Rule S: functions that the user names are called by the host program as they are, in order, and checked."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch

import runtime_py
import toolchain
from tests.soundness.harness import check, randint, randn, refused
from toolchain import host_call
from toolchain.diagnostics import UsageError
from toolchain.frontend import Call, HostCalls, explore
from toolchain.ir import HOST_CALL, user_functions
from toolchain.ir.interpreter import Interpreter
from toolchain.passes import run_pipeline


class Odd(ValueError):
    """An exception of the user's own."""


@host_call
def words(ids, separator=" "):
    """Text and how many ids it is made of."""
    return separator.join("abcdefgh"[i] for i in ids.tolist()), len(ids)


@host_call
def positive(x):
    return x[x > 0]


@host_call
def log(text, value):
    print(f"{text} {value:.3f}")


@host_call
def spread(x):
    """A NumPy scalar: a tensor without dims."""
    return np.ptp(x)


@host_call
def half(n):
    if n % 2:
        raise Odd(f"{n} is odd")
    return n // 2


@host_call(result=toolchain.TensorType("float32", (None,)))
def declared(x):
    return x[x > 0]


@host_call
def total(numbers, scale=None):
    return sum(numbers) * (scale or 1)


def ones(*lengths):
    return [(torch.ones(n),) for n in lengths]


# ---- what functions take and give


def test_strings_and_numbers():
    def program(ids):
        text, count = words(ids, separator="-")
        return f"<{text}>", count + 1

    check(program, [(torch.arange(n),) for n in (3, 5, 0)], examples=2)


def test_extents_that_depend_on_data():
    def program(x):
        y = positive(x)
        return (y * 2).sum(), y.shape[0], torch.cat([x, y])

    check(program, randn(6), examples=4)


def test_numpy_scalars_are_tensors_without_dims():
    def program(x):
        s = spread(x)
        return s + x if s > 2 else (s, float(s))

    check(program, randn(4, count=6))


def test_a_tensor_without_dims_goes_as_a_numpy_scalar():
    def program(x):
        log("sum", x.sum())
        return x

    check(program, randn(3, count=2))


def test_lists():
    def program(x):
        found = [x[i].item() for i in range(3)]
        some = []
        for i in range(4):
            if x[i] > 0:
                some.append(i)
        return total(found), total(some, scale=2)

    check(program, [(torch.tensor([1.0, 2, 3, -1]),), *randn(4, count=4, seed=1)])


def test_what_is_given_never_aliases():
    kept = []

    @host_call(name="keeps")
    def keeps(x):
        kept.append(x)
        return x

    def program(x):
        y = keeps(x)
        y += 1
        return x, y, keeps(y)

    check(program, randn(3, count=2), host_calls=[keeps])
    assert len(kept) >= 8
    assert not any(array.flags.writeable for array in kept)


def test_functions_of_other_libraries():
    points, values = np.array([0.0, 1.0, 2.0], np.float32), np.array([5.0, 7.0, 6.0], np.float32)

    def program(x):
        y = np.interp(x.numpy(), points, values)
        return torch.from_numpy(y) if y.max() > 6 else x

    check(program, randn(4), host_calls=[np.interp])
    # A scalar of NumPy in, and one out.
    check(lambda x: float(np.interp(x.numpy()[0], points, values)), randn(4), host_calls=[np.interp])


# ---- order and effects


def test_effects_keep_their_order_and_number():
    def program(x):
        log("first", x.sum().item())
        if x[0] > 0:
            log("positive", x[0].item())
        total([1, 2])
        log("last", x.max().item())
        return x * 2

    raw = check(program, randn(3))
    assert raw is not None
    blocks = run_pipeline(raw).functions[0].blocks
    assert sum(op.opcode == HOST_CALL for b in blocks for op in b.operations if hasattr(op, "opcode")) == 4


def test_in_a_loop_whose_results_decide():
    def program(x):
        steps = 0
        while spread(x) > 1 and steps < 20:
            log("step", float(steps))
            x = x * 0.5
            steps += 1
        return x, steps

    check(program, [(torch.tensor([0.0, v]),) for v in (0.5, 3.0, 100.0)], examples=2)


def test_carried_through_loops_and_calls():
    @host_call(name="every_other")
    def every_other(x):
        return x[::2], f"{len(x)},"

    class Halving(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.last = torch.zeros(1)
            self.calls = 0

        def forward(self, x):
            text = ""
            while x.shape[0] > 1 and x.sum() > 0:
                x, part = every_other(x * 1.5)
                text += part
            before, self.last = self.last, x.sum().reshape(1)
            self.calls += 1
            return x, text, before, self.calls

    check(Halving(), [(torch.ones(n),) for n in (5, 1, 9, 4)], examples=3, host_calls=[every_other])


def test_a_check_that_guards_an_index_comes_first():
    @host_call(name="within", result=None)
    def within(index, size):
        if not 0 <= index < size:
            raise IndexError(f"{index} is not below {size}")

    def program(x, i):
        n = i.item()
        within(n, 4)
        return x[n]

    inputs = [(torch.arange(4.0), torch.tensor(i)) for i in (1, 3, 9, -1)]
    check(program, inputs, examples=2, host_calls=[within])


# ---- what is not known, or not as expected


def test_a_branch_that_no_example_takes():
    def program(x):
        return positive(x) if x.sum() > 100 else x

    refusal = refused(program, randn(4), "TC163")
    assert "no example calls it with (float32[1])" in str(refusal)
    assert refusal.problems[0].line == program.__code__.co_firstlineno + 1

    def repaired(x):
        return declared(x) if x.sum() > 100 else x

    check(repaired, [*randn(4, count=3), (torch.tensor([200.0, -1, 3, 4]),)], examples=3)


def test_different_results_in_the_examples():
    @host_call(name="changing")
    def changing(n):
        return n if n > 1 else str(n)

    refusal = refused(lambda x: changing(x.shape[0]), ones(1, 2), "TC163")
    assert "it gave str in one example call and int in another" in str(refusal)


def test_what_an_example_raises_is_said():
    refusal = refused(lambda x: half(int(x.sum())), ones(3), "TC163")
    assert "it raised Odd: 3 is odd" in str(refusal)


def test_another_result_at_run_time_is_an_error():
    program = explore(lambda x: positive(x) + 1, [Call((torch.ones(3),), {})])
    outcome = Interpreter(program).call(0, [torch.tensor([1.0, -1.0, 2.0])])
    assert isinstance(outcome.exception, runtime_py.DeviceError)
    assert outcome.exception.code == "RT309"
    text = "the host call .*positive gave float32\\[2\\], expected float32\\[3\\]"
    with pytest.raises(runtime_py.DeviceError, match=text):
        raise outcome.exception


@pytest.mark.parametrize("given", [{}, 2**70, np.array(["a"]), np.zeros(2, ">f4"), (1, None)])
def test_what_no_function_may_give(given):
    @host_call
    def wrong(n):
        return given

    with pytest.raises(runtime_py.DeviceError, match=r"RT309|RT307"):
        wrong(1)


def test_a_declaration_holds_in_eager_too():
    assert declared(torch.ones(2)).equal(torch.ones(2))
    with pytest.raises(runtime_py.DeviceError, match=r"gave float64\[2\], expected float32\[\?\]"):
        declared(torch.ones(2, dtype=torch.float64))


# ---- exceptions


def test_exceptions_reach_the_caller():
    check(lambda x: half(int(x)), [(torch.tensor(n),) for n in (4, 3, 6)], examples=1)


def test_exceptions_that_the_program_would_see():
    def caught(x):
        try:
            return half(x.shape[0])
        except ValueError:
            return -1

    def cleaned_up(x):
        try:
            return half(x.shape[0])
        finally:
            log("left", 0.0)

    refused(caught, ones(4), "TC165")
    refused(cleaned_up, ones(4), "TC165")

    @torch.no_grad()
    def not_seen(x):
        with torch.no_grad():
            try:
                raise KeyError
            except KeyError:
                return half(x.shape[0])

    check(not_seen, ones(4))


# ---- what cannot be a host call


def test_arguments_that_cannot_be_handed_over():
    refused(lambda x: total({"a": x}), ones(2), "TC164")
    refused(lambda x: total((x, x)), ones(2), "TC164")
    refused(lambda x: spread(x.bfloat16()), ones(2), "TC164")
    refused(lambda x: np.interp(x, x, x), ones(2), "TC164", host_calls=[np.interp])
    refused(lambda x: np.interp([x[0].item()], x.numpy(), x.numpy()), ones(2), "TC164", host_calls=[np.interp])


def test_decorated_once_more():
    def twice(function):
        @functools.wraps(function)
        def wrapper(x):
            return function(function(x))

        return wrapper

    half_of = twice(host_call(lambda n: n / 2, name="half_of"))
    program = explore(lambda x: half_of(float(x)), [Call((torch.tensor(8.0),), {})])
    assert [f.name for f in user_functions(program)] == ["half_of"]
    functions = {"half_of": half_of}
    assert Interpreter(program, functions).call(0, [torch.tensor(4.0)]).result.operand == 1.0


def test_a_name_that_leads_elsewhere():
    def impostor(x):
        return x

    impostor.__qualname__ = "words"
    refusal = refused(lambda x: host_call(impostor)(x), ones(2), "TC164")
    assert "leads to another function" in str(refusal)


def test_calls_by_native_code():
    weights = [torch.ones(2), torch.zeros(2)]
    refused(lambda x: (x, torch.utils._pytree.tree_map(spread, weights)), ones(2), "TC120")
    check(lambda x: (list(map(spread, [x, x * 2])), max([x, x * 2], key=spread)), randn(3, count=3))


def test_two_functions_of_one_name():
    def made(factor):
        return host_call(lambda x: x * factor, name="scaled")

    double, triple = made(2), made(3)
    refused(lambda x: double(x) + triple(x), ones(2), "TC164")
    with pytest.raises(UsageError, match="TC228"):
        HostCalls([double, triple])


@pytest.mark.parametrize(
    "make",
    [
        lambda: host_call(3),
        lambda: HostCalls(["a".join]),
        lambda: host_call(total, result=list),
        lambda: host_call(total, result=(int, None)),
        lambda: HostCalls([np.random.RandomState(0).rand]),
    ],
)
def test_what_is_no_function_or_declared_wrongly(make):
    with pytest.raises(UsageError) as caught:
        make()
    assert caught.value.code == "TC228"


def test_an_unknown_dtype_is_declared():
    wrong = host_call(lambda x: x, result=toolchain.TensorType("float33", (1,)), name="wrong")
    with pytest.raises(UsageError, match="TC228"):
        wrong(torch.ones(1))


def test_a_function_in_the_examples_of_a_stateful_module():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, x):
            self.seen += spread(x)
            if self.seen.item() > 3:
                self.seen.zero_()
            return self.seen * 1

    check(Counter(), [(torch.tensor([0.0, v]),) for v in (1.0, 1.0, 2.0, 1.0)])


# ---- elsewhere


def test_the_vm_host_has_no_functions(tmp_path):
    def program(ids):
        text, count = words(ids)
        return text if count > 1 else "short"

    with pytest.raises(toolchain.UnsupportedModelError) as caught:
        toolchain.build(program, (torch.arange(3),), hosts=("vm",), out=tmp_path / "net.bundle")
    problems = {problem.code: problem.message for problem in caught.value.problems}
    assert set(problems) == {"TC171"}
    assert "words" in str(caught.value)
    assert not (tmp_path / "net.bundle").exists()


def test_what_a_program_calls():
    program = explore(lambda x: (words(x), words(x, separator="")), randint_calls())
    assert [str(f).partition(":")[2] for f in user_functions(program)] == [
        "words(tensor<?xint64>) -> (str, int)",
        "words(tensor<?xint64>, separator=str) -> (str, int)",
    ]
    report = toolchain.explain(lambda x: words(x), randint(0, 8, 3)[0])
    assert [(cut.kind, cut.message.partition(":")[2]) for cut in report.cuts] == [("call", "words")]


def randint_calls():
    return [Call(args, {}) for args in randint(0, 8, 3, count=1)]
