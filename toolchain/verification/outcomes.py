"""What one call did, and how two calls differ."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from toolchain.frontend.entries import structure_of
from toolchain.ir import Structure

_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?|[-+]?\b(?:nan|inf)\b")


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Floats agree within ``absolute * max(1, largest) + relative * |expected|``, in float32 and wider.

    ``largest`` is the largest finite element of the tensor: where large terms cancel, what is left carries their
    rounding errors. (MobileNetV2's logits reach 40; PyTorch's own error in float32 is 2e-5 there, near 0 as well.)
    scaled: ``relative`` counts against the largest element as well.
    """

    relative: float = 1e-4
    absolute: float = 1e-5
    scaled: bool = False


NATURAL = Tolerance()
# A forced run leaves the range that the model was made for: it may iterate long after convergence, or not at all, and
# small differences grow. Its numbers are compared against the size of the tensor that they stand in.
FORCED = Tolerance(1e-3, 1e-3, scaled=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call did.

    result:    what it returned; None when it raised.
    exception: (built-in type, text) of what it raised.
    stated:    the exception is a ``raise`` or ``assert`` of the program, so that its text is the program's own.
    arguments: the arguments after the call.
    state:     what the module keeps between calls, by name.
    printed:   what it wrote to standard output.
    """

    result: Any
    exception: tuple[str, str] | None
    stated: bool
    arguments: Any
    state: Mapping[str, Any]
    printed: str = ""


@dataclass(slots=True)
class Comparison:
    """differences: one line each. error: the largest absolute difference of a finite float of a result."""

    differences: list[str]
    error: float = 0.0


def compare(expected: Outcome, actual: Outcome, tolerance: Tolerance = NATURAL) -> Comparison:
    """How ``actual`` differs. NaN equals NaN; the text of an exception counts where the program states it."""
    found = Comparison([])
    if (expected.exception and expected.exception[0]) != (actual.exception and actual.exception[0]):
        found.differences.append(f"eager {_ending(expected)}, the bundle {_ending(actual)}")
        return found
    if expected.exception and actual.exception and expected.stated:
        _text("the exception's text", expected.exception[1], actual.exception[1], tolerance, found)
    _text("the printed text", expected.printed, actual.printed, tolerance, found)
    _values("the result", expected.result, actual.result, tolerance, found)
    outside = Comparison([])
    _values("the arguments after the call", expected.arguments, actual.arguments, tolerance, outside)
    for name, value in expected.state.items():
        if name in actual.state:
            _values(f"the state {name}", value, actual.state[name], tolerance, outside)
    found.differences += outside.differences
    return found


def _ending(outcome: Outcome) -> str:
    if outcome.exception is None:
        return "returns"
    kind, text = outcome.exception
    return f"raises {kind}: {text}" if text else f"raises {kind}"


def _values(what: str, expected: Any, actual: Any, tolerance: Tolerance, found: Comparison) -> None:
    (left, mine), (right, others) = _flat(expected), _flat(actual)
    if left != right:
        found.differences.append(f"{what} has another structure")
        return
    for (place, x), (_, y) in zip(mine, others, strict=True):
        problem, error = _leaf(x, y, tolerance)
        found.error = max(found.error, error)
        if problem:
            found.differences.append(f"{what}{place} {problem}")


def _flat(value: Any) -> tuple[Structure, list[tuple[str, Any]]]:
    leaves: list[tuple[str, Any]] = []
    return structure_of(value, lambda leaf, name: leaves.append((name, leaf))), leaves


def _leaf(x: Any, y: Any, tolerance: Tolerance) -> tuple[str, float]:
    """What is wrong, or "", and the absolute error."""
    if type(x) is not type(y) and not (isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)):
        return f"is {_shown(x)} in eager, {_shown(y)} in the bundle", 0.0
    if isinstance(x, torch.Tensor):
        return _tensor(x, y, tolerance)
    if isinstance(x, float):
        return _tensor(torch.tensor(x, dtype=torch.float64), torch.tensor(y, dtype=torch.float64), tolerance)
    if isinstance(x, str):
        found = Comparison([])
        _text("it", x, y, tolerance, found)
        return (f"is {x!r} in eager, {y!r} in the bundle" if found.differences else ""), 0.0
    return ("" if x == y else f"is {x!r} in eager, {y!r} in the bundle"), 0.0


def _shown(value: Any) -> str:
    return f"a tensor {list(value.shape)}" if isinstance(value, torch.Tensor) else f"{type(value).__name__} {value!r}"


def _tensor(x: torch.Tensor, y: torch.Tensor, tolerance: Tolerance) -> tuple[str, float]:
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return f"is {x.dtype}{list(x.shape)} in eager, {y.dtype}{list(y.shape)} in the bundle", 0.0
    if not x.is_floating_point() and not x.is_complex():
        count = int((x != y).sum())
        return (f"differs in {count} of {x.numel()} elements" if count else ""), 0.0
    exact = torch.complex128 if x.is_complex() else torch.float64
    a, b = x.detach().to(exact), y.detach().to(exact)
    same = (a == b) | (a.isnan() & b.isnan())
    distance = torch.where(same, 0.0, (a - b).abs())
    error = float(distance[distance.isfinite()].max()) if bool(distance.isfinite().any()) else 0.0
    bad = ~(same | (distance <= _allowed(x, a, tolerance)))
    if not bool(bad.any()):
        return "", error
    at = int(bad.flatten().nonzero()[0])
    pair = f"{a.flatten()[at].item():.9g} in eager, {b.flatten()[at].item():.9g} in the bundle"
    return f"differs in {int(bad.sum())} of {x.numel()} elements: {pair}", error


def _allowed(x: torch.Tensor, wide: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    size = wide.abs()
    finite = size[size.isfinite()]
    largest = finite.max() if finite.numel() else torch.zeros((), dtype=torch.float64)
    size = largest if tolerance.scaled else size
    # Half precision cannot hold more than a few of its last digits.
    relative = max(tolerance.relative, 8 * torch.finfo(x.dtype).eps)
    return tolerance.absolute * largest.clamp(min=1.0) + relative * size.nan_to_num(posinf=0.0)


def _text(what: str, expected: str, actual: str, tolerance: Tolerance, found: Comparison) -> None:
    """Texts agree if the floating-point numbers in them do and all the rest is the same."""
    same = _NUMBER.split(expected) == _NUMBER.split(actual)
    pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(actual), strict=False)
    if not same or not all(_near(float(a), float(b), tolerance) for a, b in pairs):
        found.differences.append(f"{what} is {expected!r} in eager, {actual!r} in the bundle")


def _near(a: float, b: float, tolerance: Tolerance) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= tolerance.absolute + tolerance.relative * max(abs(a), abs(b))
