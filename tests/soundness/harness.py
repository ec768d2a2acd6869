"""Explores a program once and compares what the graph does, before and after the passes, with plain Python.

A program must behave exactly like eager PyTorch, or be refused with a code at a line of the user. There is no third
way.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import dataclasses
import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from toolchain.diagnostics import UnsupportedModelError
from toolchain.frontend import Call, Dynamic, HostCalls, explore
from toolchain.ir import EntryPoint, Leaf, Mapping, Object, Program, Structure, Value
from toolchain.ir import Sequence as SequenceStructure
from toolchain.ir.interpreter import Interpreter, Outcome
from toolchain.ir.verifier import verify
from toolchain.passes import run_pipeline

BUDGET = 2000
RTOL, ATOL = 1e-5, 1e-6
Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Observation:
    """What one call did, in a form that can be compared: structures are nested tuples that start with their kind."""

    result: Any
    exception: tuple[str, str] | None
    mutated: Any
    printed: str
    warned: tuple[tuple[str, str], ...]


def check(
    program: Callable[..., Any],
    inputs: Sequence[Arguments],
    expect: str = "right",
    examples: int | None = None,
    torch_texts: bool = False,
    host_calls: Sequence[Callable[..., Any]] = (),
) -> Program | None:
    """The raw program, after it has been compared with ``program`` on all ``inputs``, called in order; None if refused.

    expect:   "right", a code that the refusal must carry, or "any".
    examples: how many of the inputs are given as examples (all of them, unless stated).
    torch_texts: the exceptions are PyTorch's own; only their types must agree, since the texts name values.
    host_calls: as for ``toolchain.build``.
    """
    if isinstance(program, torch.nn.Module):
        program.eval().requires_grad_(False)
    calls = [Call(copy.deepcopy(args), {}) for args in inputs[:examples]]
    known = HostCalls(host_calls)
    try:
        raw = explore(program, calls, budget=BUDGET, host_calls=known)
    except UnsupportedModelError as refusal:
        if expect == "right":
            raise AssertionError(str(refusal)) from refusal
        _check_refusal(refusal, expect)
        return None
    assert expect in ("right", "any"), f"{expect} was expected, and the program was explored"
    verify(raw)
    optimised = run_pipeline(raw, verify=True)
    # Before eager runs: constants of the program share memory with the module, and globals with the function.
    runs = [_run(p, inputs, known) for p in (raw, optimised)]
    eager = _run_eager(copy.deepcopy(program), inputs)
    for number, wanted in enumerate(eager):
        for name, run in zip(("explored", "optimised"), runs, strict=True):
            if expect == "any" and _is_refused(run[number]):
                continue
            if torch_texts:
                wanted, run[number] = _without_text(wanted), _without_text(run[number])
            _compare(wanted, run[number], f"call {number} of the {name} program")
    return raw


def refused(
    program: Callable[..., Any],
    inputs: Sequence[Arguments],
    code: str,
    host_calls: Sequence[Callable[..., Any]] = (),
) -> UnsupportedModelError:
    """The refusal of ``program``, which must carry ``code`` first."""
    try:
        explore(program, [Call(args, {}) for args in inputs], budget=BUDGET, host_calls=HostCalls(host_calls))
    except UnsupportedModelError as refusal:
        _check_refusal(refusal, code)
        return refusal
    raise AssertionError(f"{code} was expected, and the program was explored")


def _check_refusal(refusal: UnsupportedModelError, expect: str) -> None:
    assert refusal.problems
    for problem in refusal.problems:
        assert problem.code.startswith("TC1"), problem
        assert problem.line > 0, problem
        assert "<unknown>" not in problem.file, problem
        assert problem.message, problem
    assert expect in ("any", *(p.code for p in refusal.problems)), str(refusal)


# ---- running


def _run(program: Program, inputs: Sequence[Arguments], host_calls: HostCalls) -> list[Observation]:
    interpreter = Interpreter(program, host_calls.functions)
    observations = []
    for args in inputs:
        number, leaves = _entry_of(program, copy.deepcopy(args))
        with _observed() as seen:
            outcome = _outcome_of(interpreter, number, leaves)
        observations.append(seen(outcome, _mutated(outcome, leaves)))
    return observations


def _outcome_of(interpreter: Interpreter, number: int, leaves: list[Any]) -> Outcome:
    """After the passes, an operation of a subgraph runs before the check that guards it is looked at."""
    try:
        return interpreter.call(number, leaves)
    except (RuntimeError, IndexError) as error:
        if not interpreter.program.subgraphs:
            raise
        return Outcome(None, error, ())


def _mutated(outcome: Outcome, leaves: list[Any]) -> Any:
    after = list(leaves)
    for index, value in outcome.mutated:
        after[index] = value
    return tuple(frozen(x) for x in after if isinstance(x, torch.Tensor))


def _run_eager(program: Callable[..., Any], inputs: Sequence[Arguments]) -> list[Observation]:
    observations = []
    for args in inputs:
        mine = copy.deepcopy(args)
        plain = _undynamic(mine)
        with _observed() as seen, torch.no_grad():
            try:
                outcome: Any = ("returned", program(*plain))
            except Exception as error:  # the program's own; compared below
                outcome = ("raised", error)
        tensors = tuple(frozen(x) for x in torch.utils._pytree.tree_leaves(plain) if isinstance(x, torch.Tensor))
        observations.append(seen(outcome, tensors))
    return observations


@contextlib.contextmanager
def _observed() -> Iterator[Callable[[Any, Any], Observation]]:
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")

        def seen(outcome: Any, mutated: Any) -> Observation:
            result, exception = _outcome(outcome)
            warned = tuple((w.category.__name__, str(w.message)) for w in caught if "torch" not in w.filename)
            return Observation(result, exception, mutated, printed.getvalue(), warned)

        yield seen


def _outcome(outcome: Any) -> tuple[Any, tuple[str, str] | None]:
    if isinstance(outcome, Outcome):
        error = outcome.exception
        result = None if outcome.result is None else frozen(outcome.result)
    else:
        error = outcome[1] if outcome[0] == "raised" else None
        result = None if error is not None else frozen(outcome[1])
    return (result, None) if error is None else (None, (_builtin_name(error), str(error)))


def _builtin_name(error: BaseException) -> str:
    return next(k.__name__ for k in type(error).__mro__ if getattr(builtins, k.__name__, None) is k)


# ---- entries


def _entry_of(program: Program, args: Arguments) -> tuple[int, list[Any]]:
    for number, entry in enumerate(program.entries):
        leaves: list[Any] = []
        if _matches(entry.signature, (args, {}), leaves) and _dims_match(entry, leaves):
            return number, leaves
    raise AssertionError("no entry takes these arguments")


def _dims_match(entry: EntryPoint, leaves: list[Any]) -> bool:
    for leaf, value in zip(entry.inputs, leaves, strict=True):
        if leaf.dims is None:
            continue
        if value.dim() != len(leaf.dims) or str(value.dtype) != f"torch.{leaf.type.dtype}":  # type: ignore[union-attr]
            return False
        if any(d.size not in (None, n) for d, n in zip(leaf.dims, value.shape, strict=True)):
            return False
    return True


def _matches(tree: Structure, value: Any, leaves: list[Any]) -> bool:
    match tree:
        case Leaf(operand=Value()):
            leaves.append(value.value if isinstance(value, Dynamic) else value)
            return isinstance(value, (torch.Tensor, Dynamic))
        case Leaf():
            return type(tree.operand) is type(value) and tree.operand == value
        case Mapping():
            keys_match = isinstance(value, dict) and tuple(value) == tree.keys
            return keys_match and all(_matches(t, v, leaves) for t, v in zip(tree.items, value.values(), strict=True))
        case Object():
            return all(_matches(t, getattr(value, f), leaves) for t, f in zip(tree.items, tree.fields, strict=True))
        case SequenceStructure():
            fits = isinstance(value, (tuple, list)) and len(value) == len(tree.items)
            return fits and all(_matches(t, v, leaves) for t, v in zip(tree.items, value, strict=True))


def _undynamic(value: Any) -> Any:
    if isinstance(value, Dynamic):
        return value.value
    if type(value) in (tuple, list):
        return type(value)(_undynamic(v) for v in value)
    return {k: _undynamic(v) for k, v in value.items()} if isinstance(value, dict) else value


# ---- comparing


def frozen(value: Any) -> Any:
    """``value`` as nested tuples; the same for a Python object and for the structure that stands for it."""
    match value:
        case Leaf():
            return frozen(value.operand)
        case SequenceStructure():
            return (value.kind, *map(frozen, value.items))
        case Mapping():
            return ("dict", value.keys, *map(frozen, value.items))
        case Object():
            return (value.qualname, value.fields, *map(frozen, value.items))
        case torch.Tensor():
            return value.detach().clone()
        case torch.Size():
            return ("size", *value)
        case set() | frozenset():
            return ("set", *map(frozen, sorted(value, key=repr)))
        case dict():
            return ("dict", tuple(value), *map(frozen, value.values()))
        case tuple() | list():
            return _frozen_sequence(value)
        case None | bool() | int() | float() | complex() | str():
            return value
    fields = tuple(f.name for f in dataclasses.fields(value)) if dataclasses.is_dataclass(value) else tuple(vars(value))
    return (type(value).__qualname__, fields, *(frozen(getattr(value, f)) for f in fields))


def _frozen_sequence(value: tuple[Any, ...] | list[Any]) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return (type(value).__qualname__, value._fields, *map(frozen, value))
    return ("list" if isinstance(value, list) else "tuple", *map(frozen, value))


def _is_refused(observation: Observation) -> bool:
    """The program itself says that it does not go this way."""
    kind, text = observation.exception or ("", "")
    return kind == "NotImplementedError" and text.endswith("that path is not compiled")


def _without_text(observation: Observation) -> Observation:
    exception = None if observation.exception is None else (observation.exception[0], "")
    return dataclasses.replace(observation, exception=exception)


def _compare(wanted: Observation, got: Observation, where: str) -> None:
    for field in dataclasses.fields(Observation):
        a, b = getattr(wanted, field.name), getattr(got, field.name)
        assert same(a, b), f"{where}: {field.name}: eager has\n  {a}\nthe program has\n  {b}\n{wanted}\n{got}"


def same(a: Any, b: Any) -> bool:
    """Equal structure, types, dtypes and shapes; floating-point numbers within tolerance."""
    if type(a) is not type(b):
        return False
    if isinstance(a, torch.Tensor):
        alike = a.dtype == b.dtype and a.shape == b.shape
        return (
            alike and torch.allclose(a, b, RTOL, ATOL, equal_nan=True)
            if a.is_floating_point()
            else alike and a.equal(b)
        )
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=RTOL, abs_tol=ATOL)
    return bool(a == b)


def randint(low: int, high: int, *shape: int, count: int = 8, seed: int = 0) -> list[Arguments]:
    """``count`` calls with one int64 tensor of elements from low to high - 1."""
    generator = torch.Generator().manual_seed(seed)
    return [(torch.randint(low, high, shape, generator=generator),) for _ in range(count)]


def randn(*shape: int, count: int = 8, seed: int = 0, scale: float = 1.0) -> list[Arguments]:
    """``count`` calls with one normal float32 tensor."""
    generator = torch.Generator().manual_seed(seed)
    return [(torch.randn(*shape, generator=generator) * scale,) for _ in range(count)]
