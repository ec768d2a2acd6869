"""The programs that all hosts run: small ones, which together use every construct that a host has to know.

Expectations are not written down: results, exceptions, printed text and changed arguments are eager PyTorch's, the path
is that of ``toolchain.ir.interpreter``.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from toolchain import Dynamic, Example

Pair = collections.namedtuple("Pair", ["left", "right"])


@dataclass(frozen=True)
class Case:
    """make: the module or function. calls: made in order on one session, all of them examples."""

    name: str
    make: Callable[[], Callable[..., Any]]
    calls: tuple[Example, ...]


CASES: dict[str, Case] = {}


def case(*calls: Any) -> Callable[[Any], Any]:
    """Registers a function, or a module class; a call is an ``Example`` or a tuple of arguments."""

    def register(program: Any) -> Any:
        examples = tuple(c if isinstance(c, Example) else Example(c if isinstance(c, tuple) else (c,)) for c in calls)
        is_module = isinstance(program, type)
        make = (lambda: seeded(program)) if is_module else lambda: program
        name = program.__name__.lower() if is_module else program.__name__
        CASES[name] = Case(name, make, examples)
        return program

    return register


def seeded(module: type[nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return module().eval()


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values)


def floats(*values: float) -> torch.Tensor:
    return torch.tensor(values)


# Numbers of the host.


@case(ints(7, 2), ints(-7, 2), ints(7, -2), ints(0, 5), ints(12, -1))
def integers(x: torch.Tensor) -> Any:
    a, b = x[0].item(), x[1].item()
    bits = (a & b, a | b, a ^ b, ~a, a >> 1, b << 2, -5 >> a % 3)
    return a + b, a - b, a * b, a // b, a % b, a / b, -a, +a, abs(b), min(a, b, 3), max(a, b), bits, a**3


@case(floats(7.5, 2.0), floats(-7.5, 2.0), floats(7.5, -0.3), floats(0.0, 1.0), floats(2.5, 3.5))
def doubles(x: torch.Tensor) -> Any:
    a, b = x[0].item(), x[1].item()
    whole = (int(a), round(a), round(b), math.floor(a), math.ceil(a), math.trunc(b), bool(a))
    return a + b, a - b, a * b, a / b, a // b, a % b, -a, abs(a), min(a, b), max(a, b), abs(a) ** b, whole


@case(floats(0.5), floats(2.0), floats(1.0))
def functions(x: torch.Tensor) -> Any:
    a = x.item()
    powers = (math.sqrt(a), math.exp(a), math.log(a), math.log2(a), math.log10(a), math.log1p(a), math.expm1(a))
    circle = (math.sin(a), math.cos(a), math.tanh(a), math.atan(a), math.atan2(a, 2.0), math.fmod(a, 0.3))
    return powers, circle, math.isnan(a), math.isinf(a), math.isfinite(a), math.fabs(-a)


@case(floats(0.5), floats(0.25))
def more_functions(x: torch.Tensor) -> Any:
    a = x.item()
    return math.tan(a), math.asin(a), math.acos(a), math.sinh(a), math.cosh(a), math.hypot(a, 1.0), round(a, 1)


@case((ints(3), floats(2.5)), (ints(2), floats(2.0)), (ints(-1), floats(float("nan"))))
def mixed(n: torch.Tensor, x: torch.Tensor) -> Any:
    a, b = n.item(), x.item()
    return a < b, a <= b, a > b, a >= b, a == b, a != b, a + b, a * b, a / 2, float(a), (a > 0) + 1, not a


@case((ints(3), True, 2, 0.5), (ints(0), False, -4, 1.5))
def logic(x: torch.Tensor, flag: bool, n: int, f: float) -> Any:
    positive = (x > 1).item()
    chosen = n if positive and flag else -n
    return positive & flag, positive | flag, positive ^ flag, chosen, f * chosen, min(positive, flag), x * n + f


CASES["logic"] = Case(
    "logic",
    CASES["logic"].make,
    tuple(Example((e.args[0], *map(Dynamic, e.args[1:]))) for e in CASES["logic"].calls),
)


# Control flow.


@case(floats(5.0), floats(0.5), floats(300.0))
def loop(x: torch.Tensor) -> Any:
    steps = 0
    while x.norm() > 1 and steps < 6:
        x, steps = x / 2, steps + 1
    return x, steps


@case(ints(4, 2), ints(0, 1), ints(3, 9), ints(6, 0))
def nested(x: torch.Tensor) -> Any:
    total, rounds = x.sum() * 0, 0
    for i in range(int(x[0])):
        for j in range(int(x[1])):
            if (total > 30).item():
                return total, None, i
            if j == i:
                continue
            if j > 4:
                break
            total = total + i * j
        else:
            rounds += 1
    return total, (), rounds


@case(ints(3), ints(9))
def chosen_text(x: torch.Tensor) -> Any:
    return ("small", x) if x.item() < 5 else ("large", x)


@case(ints(1), ints(2), ints(5), ints(9))
def chain(x: torch.Tensor) -> Any:
    n = x.item()
    if n == 1:
        y = x + 10
    elif n == 2:
        y = x * 20
    elif n < 6:
        y = x - 30
    else:
        y = -x
    return (y, n) if y > 0 else y


@case(ints(3), ints(0), ints(6))
def swaps(n: torch.Tensor) -> Any:
    a = b = n * 1.5
    c = n + 1
    for _ in range(int(n)):
        a, b, c = b, a + c, a
    return a, b, c, b, n


@case(ints(2), ints(-2))
def kinds(x: torch.Tensor) -> Any:
    if x > 0:
        return {"x": x, "more": [x + 1, (x + 2, 3)], "none": None, 5: True}
    return Pair(x, 2.5)


@case(ints(2), ints(-2))
def nothing(x: torch.Tensor) -> Any:
    if x > 0:
        return None
    return 7


# Exceptions.


@case(ints(1), ints(0), ints(-1), ints(-2), ints(-3), ints(-4))
def raising(x: torch.Tensor) -> Any:
    n = x.item()
    if n == -1:
        raise ValueError("must not be -1")
    if n == -2:
        raise KeyError("minus two")
    assert n != -3, "three; while counting\ndown"
    if n == -4:
        raise StopIteration
    return 10 // n


@case(ints(1), ints(-5))
def raising_values(x: torch.Tensor) -> Any:
    n = x.item()
    if n < 0:
        raise ValueError(f"{n} is negative")
    return x


@case(floats(4.0), floats(-1.0), floats(1e4), floats(0.0))
def raising_functions(x: torch.Tensor) -> Any:
    a = x.item()
    return math.sqrt(a) + math.exp(a) + 1 / a


@case(ints(1), ints(7), ints(-3))
def raising_index(x: torch.Tensor) -> Any:
    items = list(range(int(abs(x))))
    items.append(5)
    return items[int(x) // 2]


# Lists.


@case(ints(4), ints(0), ints(1))
def lists(n: torch.Tensor) -> Any:
    count = int(n)
    items, others = [], []
    for i in range(count):
        items.append(i * i)
        others.append(i / 2)
    if count > 1:
        items[1] = 100
        items.pop(0)
        others.insert(1, 0.25)
        return items, others, items[-1], len(items), items[1:], items[:2], items[-1:]
    items.extend(items)
    return items, others, len(items)


@case(ints(3), ints(1))
def tensors(n: torch.Tensor) -> Any:
    rows, columns, numbers = [], [], []
    for i in range(int(n)):
        rows.append(torch.full((2,), 1.0) * i)
        columns.append(torch.ones(2, i + 1) * n)
        numbers.append(n + i)
    return torch.stack(rows), torch.cat(columns, dim=1), torch.cat(rows), torch.stack(numbers), rows


@case(ints(3), ints(0))
def pairs(n: torch.Tensor) -> Any:
    found = []
    for i in range(int(n)):
        found.append((i, n * i, i > 1))
    total = n * 0
    for number, tensor, flag in found:
        total = total + tensor * number if flag else total - 1
    return total, found


@case(ints(5, 6, 7), ints(2))
def conversions(x: torch.Tensor) -> Any:
    numbers = x.tolist()
    halves = []
    for number in numbers:
        halves.append(number / 2)
    return torch.tensor(numbers), torch.tensor(halves), numbers


@case(torch.arange(6).reshape(2, 3), torch.tensor([[4.0, -1.0, 2.5]]).long())
def rows(x: torch.Tensor) -> Any:
    best = 0
    table = x.tolist()
    for row in table:
        if sum(row) > best:
            best = row[1]
    return best, table


# State and arguments.


@case(floats(1.0, 2.0), floats(3.0, 4.0), floats(-9.0, 0.0), floats(5.0, 6.0))
class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(2))
        self.calls = 0
        self.last: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> Any:
        self.calls += 1
        self.total += x
        if self.last is not None and (self.last > x).any():
            self.last = None
            raise RuntimeError("fell")
        self.last = x
        return self.total * 1, self.calls


@case(floats(1.0), floats(2.0), floats(3.0))
class Cache(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cache = torch.zeros(0, 1)
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> Any:
        self.cache = torch.cat([self.cache, x.view(1, 1) * self.weight])
        return self.cache.sum() if self.cache.shape[0] > 1 else self.weight


@case((floats(1.0, 2.0), floats(3.0)), (floats(-1.0, 2.0), floats(3.0)))
def in_place(x: torch.Tensor, y: torch.Tensor) -> Any:
    if (x > 0).all():
        x.add_(1)
    y.mul_(x[1])
    return x * y


@case(
    Example((floats(1.0),)), Example((floats(2.0),), {"scale": floats(3.0)}), Example((floats(2.0),), {"twice": True})
)
def optional(x: torch.Tensor, scale: torch.Tensor | None = None, twice: bool = False) -> Any:
    if scale is not None:
        x = x * scale
    if (x > 1.5).item():
        x = x - 1
    return x * 2 if twice else x


# Weights.


@case(torch.ones(1, 4), -torch.ones(1, 4))
class Layers(nn.Module):
    """Equal blocks with different weights, and a weight that crosses a border as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: torch.Tensor) -> Any:
        kept = self.blocks[0].bias
        for block in self.blocks:
            x = block(x)
            if x.sum() > 0:
                kept = block.bias
        return x, kept


# Shapes and dtypes.


@case(torch.ones(2, 3), torch.ones(1, 5), torch.zeros(0, 4), torch.zeros(3, 0))
def shapes(x: torch.Tensor) -> Any:
    if x.shape[0] > 1:
        x = x[1:]
    if x.numel() == 0:
        return x, x.shape[1]
    return x @ x.T, x.shape[0] * x.shape[1]


@case(floats(2.6), floats(-1.2), floats(0.0))
def filled(x: torch.Tensor) -> Any:
    a = x.item()
    n = round(a)
    whole = [torch.tensor(n, dtype=t) for t in (torch.bool, torch.int8, torch.int16, torch.int32, torch.int64)]
    return whole, [torch.tensor(a, dtype=t) for t in (torch.float16, torch.bfloat16, torch.float32, torch.float64)]


def of_dtype(name: str) -> Callable[[torch.Tensor], Any]:
    def program(x: torch.Tensor) -> Any:
        first = x[0].item()
        if first:
            return x.flip(0), x, first, x == x[1]
        return x, x.flip(0), first, x != x[1]

    program.__name__ = name
    return program


DTYPES: Sequence[str] = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64"),
)
for dtype in DTYPES:
    kind = getattr(torch, dtype)
    values = [torch.tensor(v).to(kind) for v in ([1, 0, 1], [0, 1, 0])]
    if dtype not in ("bool", "uint8"):
        values.append(torch.tensor([-3, 2, 5]).to(kind))
    name = f"dtype_{dtype}"
    CASES[name] = Case(name, partial(of_dtype, name), tuple(Example((v,)) for v in values))


# Output.


@case(ints(3), ints(0))
def printing(x: torch.Tensor) -> Any:
    n = x.item()
    print("count:", n)
    for i in range(n):
        print(f"{i:>3}", end=";")
    return x


@case(ints(3), ints(0))
def texts(x: torch.Tensor) -> Any:
    name = f"item {x.item()}"
    return {"name": name, "x": x}
