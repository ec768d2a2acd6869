"""Writes well-defined programs with much control flow, one for each seed."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from textwrap import indent

from tests.fuzz.grammar import EXPRESSIONS, LEAVES, RISKY, SHALLOW, STATEMENTS

_PLACE = re.compile(r"\{(\$\w+|#\d|[A-Za-z]+)\}")
_DECLARED = ("V", "V", "M", "S", "N", "R", "I", "Z", "int", "int", "float", "bool", "str", "LV", "LV", "Li", "Lf", "LT")
_DECLARED += ("D", "P", "T", "O", "U", "B", "C")
_PARAMETERS = {"x": "V", "m": "M", "k": "I", "d": "N", "n": "int", "t": "float", "box": "P", "rows": "LV"}
_ATTRIBUTES = {"buf": "V", "count": "int", "best": "O", "items": "LV", "on": "bool", "total": "float", "step": "Z"}
_LOOPS = (
    ("range({count})", "int"), ("range({int} % 4)", "int"), ("{V}", "S"), ("{M}", "V"), ("{R}", "V"), ("{Li}", "int"),
    ("enumerate({LV})", "int, V"), ("zip({LV}, {V})", "V, S"), ("list({$LV})", "V"), ("enumerate({V})", "int, S"),
    ("reversed(range({count}))", "int"), ("({V}, {V})", "V"), ("{LT}", "V, int"), ("zip({M}, (1, 2))", "V, int"),
    ("enumerate({Li}, 1)", "int, int"), ("{V}.tolist()", "float"), ("('a', 'b', {str})", "str"), ("{LV}[:3]", "V"),
    ("range({small}, {int} % 5)", "int"), ("range({int} % 4, 0, -1)", "int"), ("{W}", "S"),
    ("enumerate({R})", "int, V"),
)  # fmt: skip
_HELPERS = (
    ("V", "V, int"),
    ("V", "V"),
    ("bool", "V"),
    ("int", "V, int"),
    ("C", "V"),
    ("int", "int"),
    ("O", "V"),
    ("T", "V"),
)
_OPERATORS = ("cmp", "order")

_BOX = """
class Box:
    def __init__(self, v, n):
        self.v = v
        self.n = n

    def scaled(self, by):
        return self.v * by if self.n > 1 else self.v

    def bump(self, v):
        if v.sum() > 0.3:
            self.n += 1
            self.v = self.v + v
        return self
"""


class _NoVariable(Exception):
    """A template needs a variable of a type that there is none of."""


@dataclass
class Scope:
    """Where a statement stands.

    variables: the definitely assigned ones, with their types. calls: templates of calls, by the type of their results.
    result: the type that the function around returns. loops: how many are around, in this function.
    """

    variables: dict[str, str]
    calls: dict[str, list[str]]
    result: str
    loops: int = 0
    depth: int = 0
    is_generator: bool = False
    fixed: frozenset[str] = field(default_factory=frozenset)

    def inner(self, loops: int = 0) -> Scope:
        calls = {kind: list(templates) for kind, templates in self.calls.items()}
        return replace(
            self, variables=dict(self.variables), calls=calls, loops=self.loops + loops, depth=self.depth + 1
        )


class Generator:
    """Writes the program of one seed. size: about how many statements ``forward`` has."""

    def __init__(self, seed: int, size: int | None = None) -> None:
        self._random = Random(seed)
        self._left = size or self._random.choice((3, 5, 8, 12))
        self._names = 0
        self._is_module = self._random.random() < 0.5
        self._calls: dict[str, list[str]] = {}

    def write(self) -> str:
        """The source: ``program()`` makes the function or module, ``calls()`` the arguments of some calls."""
        parts = ["import torch\nfrom torch import nn\nfrom toolchain import Dynamic", _BOX.strip()]
        for _ in range(self._random.choice((0, 0, 1, 2))):
            parts.append(self._helper())
        if self._random.random() < 0.3:
            parts.append(self._generator_function())
        parameters = self._parameters()
        parts.append(self._module(parameters) if self._is_module else self._function("forward", parameters))
        made = "Net().eval()" if self._is_module else "forward"
        parts.append(f"def program():\n    return {made}")
        rows = "\n".join(f"        ({', '.join(self._value(p) for p in parameters)},)," for _ in range(5))
        parts.append(f"def calls():\n    return [\n{rows}\n    ]")
        return ast.unparse(ast.parse("\n\n\n".join(parts))) + "\n"

    # ---- expressions

    def _pick(self, scope: Scope, kind: str) -> str:
        names = [n for n, k in scope.variables.items() if k == kind]
        if not names:
            raise _NoVariable
        return self._random.choice(names)

    def _fill(self, scope: Scope, template: str, depth: int) -> str:
        made: list[str] = []

        def fill(match: re.Match[str]) -> str:
            name = match[1]
            if name[0] == "#":
                made.append(made[int(name[1])])
            elif name[0] == "$":
                made.append(self._pick(scope, name[1:]))
            else:
                text = self._expression(scope, name, depth - 1)
                made.append(text if name in _OPERATORS or text.isidentifier() else f"({text})")
            return made[-1]

        return _PLACE.sub(fill, template)

    def _expression(self, scope: Scope, kind: str, depth: int = 2) -> str:
        for _ in range(20):
            chance = self._random.random()
            if depth <= 0 or kind not in EXPRESSIONS or chance < 0.2:
                break
            try:
                is_call = scope.calls.get(kind) and chance > 0.8
                templates = scope.calls[kind] if is_call else EXPRESSIONS[kind]
                return self._fill(scope, self._random.choice(templates), depth)
            except _NoVariable:
                continue
        return self._leaf(scope, kind)

    def _leaf(self, scope: Scope, kind: str) -> str:
        names = [n for n, k in scope.variables.items() if k == kind]
        if names and self._random.random() < 0.85:
            return self._random.choice(names)
        if kind in SHALLOW and (kind not in LEAVES or self._random.random() < 0.8):
            return self._fill(scope, self._random.choice(SHALLOW[kind]), 0)
        return self._random.choice(LEAVES[kind])

    # ---- statements

    def _block(self, scope: Scope, most: int = 4) -> list[str]:
        lines: list[str] = []
        for _ in range(self._random.randint(1, most)):
            if self._left <= 0 and lines:
                break
            lines += self._statement(scope)
        return lines

    def _statement(self, scope: Scope) -> list[str]:
        self._left -= 1
        simple: list[Callable[[Scope], list[str]]] = [self._simple] * 6 + [self._declare] * 3 + [self._assign] * 3
        compound: list[Callable[[Scope], list[str]]] = []
        if scope.depth < 4 and self._left > 0:
            compound = [self._if] * 4 + [self._for] * (2 if scope.loops < 2 else 0) + [self._try]
            compound += [self._while] * (2 if scope.loops < 2 else 0) + [self._closure] * (scope.depth == 1)
        leaving = [self._leave] * 2 if scope.depth > 1 else []
        return self._random.choice(simple + compound + leaving)(scope)

    def _simple(self, scope: Scope) -> list[str]:
        for _ in range(20):
            try:
                return self._fill(scope, self._random.choice(STATEMENTS), 2).splitlines()
            except _NoVariable:
                continue
        return self._declare(scope)

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind.lower()[:2]}{self._names}"

    def _declare(self, scope: Scope) -> list[str]:
        kind = self._random.choice(_DECLARED)
        text = self._expression(scope, kind, 3)
        name = self._name(kind)
        scope.variables[name] = kind
        return [f"{name} = {text}"]

    def _assign(self, scope: Scope) -> list[str]:
        names = [n for n, kind in scope.variables.items() if n not in scope.fixed and kind != "counter"]
        if not names:
            return self._declare(scope)
        name = self._random.choice(names)
        return [f"{name} = {self._expression(scope, scope.variables[name], 3)}"]

    def _if(self, scope: Scope) -> list[str]:
        lines = [f"if {self._expression(scope, 'cond')}:", *_indented(self._block(scope.inner()))]
        if self._random.random() < 0.2:
            lines += [f"elif {self._expression(scope, 'cond')}:", *_indented(self._block(scope.inner(), 2))]
        if self._random.random() < 0.5:
            lines += ["else:", *_indented(self._block(scope.inner(), 3))]
        return lines

    def _for(self, scope: Scope) -> list[str]:
        for _ in range(20):
            source, kinds = self._random.choice((*_LOOPS, *self._generators(scope)))
            try:
                text = self._fill(scope, source, 2)
            except _NoVariable:
                continue
            inner = scope.inner(loops=1)
            names = [self._name(kind) for kind in kinds.split(", ")]
            inner.variables.update(zip(names, kinds.split(", "), strict=True))
            lines = [f"for {', '.join(names)} in {text}:", *_indented(self._block(inner))]
            return [*lines, *self._loop_else(scope)]
        return self._declare(scope)

    def _loop_else(self, scope: Scope) -> list[str]:
        return ["else:", *_indented(self._block(scope.inner(), 2))] if self._random.random() < 0.15 else []

    @staticmethod
    def _generators(scope: Scope) -> list[tuple[str, str]]:
        return [(template, "V") for template in scope.calls.get("generator", ())] * 3

    def _while(self, scope: Scope) -> list[str]:
        """Fuel is a name that nothing else assigns."""
        fuel, inner = self._name("fuel"), scope.inner(loops=1)
        inner.fixed |= {fuel}
        condition = self._expression(scope, "cond")
        body = self._block(inner)
        match self._random.randint(0, 3):
            case 0:
                lines = [f"{fuel} = {self._expression(scope, 'count')}", f"while {fuel} > 0 and ({condition}):"]
                body = [f"{fuel} -= 1", *body]
            case 1:
                lines = [f"{fuel} = 0", f"while ({condition}) and {fuel} < 4:"]
                body = [f"{fuel} += 1", *body]
            case 2:
                lines = [f"{fuel} = 0", "while True:"]
                body = [f"{fuel} += 1", f"if {fuel} > 3 or ({condition}):", "    break", *body]
            case _:
                lines = [f"{fuel} = 0", f"while {condition}:"]
                body = [f"{fuel} += 1", f"if {fuel} >= 3:", "    break", *body]
        if self._random.random() < 0.5:
            scope.variables[fuel] = "counter"  # for results only
        return [*lines, *_indented(body), *self._loop_else(scope)]

    def _try(self, scope: Scope) -> list[str]:
        inner = scope.inner()
        body = self._block(inner, 2)
        template, exception = self._random.choice(RISKY)
        try:
            body += self._fill(inner, template, 2).splitlines()
        except _NoVariable:
            exception = self._random.choice(("KeyError", "ValueError", "RuntimeError"))
            body += [f"if {self._expression(inner, 'cond')}:", f"    raise {exception}('out')"]
        body += self._block(inner, 2) if self._random.random() < 0.5 else []
        kinds = self._random.choice((exception, f"({exception}, KeyError)", "Exception", f"{exception} as error"))
        lines = ["try:", *_indented(body), f"except {kinds}:", *_indented(self._block(scope.inner(), 2))]
        if self._random.random() < 0.2:
            lines += ["else:", *_indented(self._block(scope.inner(), 2))]
        if self._random.random() < 0.2:
            last = scope.inner()
            last.loops = 0
            lines += ["finally:", *_indented(self._simple(last))]
        return lines

    def _leave(self, scope: Scope) -> list[str]:
        choices = ["return"] if scope.result != "result" or self._random.random() < 0.5 else []
        choices += ["break", "continue"] * 2 if scope.loops else []
        choices += ["yield"] * 3 if scope.is_generator else []
        choices += ["raise"] if self._random.random() < 0.3 else []
        if not choices:
            return self._simple(scope)
        chosen = self._random.choice(choices)
        if chosen == "return":
            left = ["return"] if scope.is_generator else self._return(scope)
        elif chosen == "yield":
            left = [f"yield {self._expression(scope, 'V')}"]
        elif chosen == "raise":
            left = [f"raise {self._random.choice(('ValueError', 'KeyError', 'IndexError'))}('left')"]
        else:
            left = [chosen]
        if self._random.random() < 0.8 and chosen != "yield":
            return [f"if {self._expression(scope, 'cond')}:", *_indented(left)]
        return left

    def _return(self, scope: Scope) -> list[str]:
        if scope.result != "result":
            return [f"return {self._expression(scope, scope.result)}"]
        names = [n for n in scope.variables if "." not in n]
        names = [n for n in names if self._random.random() < 0.85] or names
        return [f"return ({', '.join(names)},)"]

    # ---- functions

    @contextmanager
    def _budget(self, size: int) -> Iterator[None]:
        """For a function besides ``forward``, which has statements of its own."""
        left, self._left = self._left, size
        yield
        self._left = left

    def _body(self, scope: Scope) -> list[str]:
        lines: list[str] = []
        while self._left > 0:
            lines += self._block(scope)
        return lines

    def _helper(self, prefix: str = "", first: str = "") -> str:
        """A function of its own; with ``prefix`` and ``first`` a method."""
        result, kinds = self._random.choice(_HELPERS)
        name = self._name("helper")
        parameters = {self._name(kind): kind for kind in kinds.split(", ")}
        variables = dict(parameters) | (self._attributes() if first else {})
        scope = Scope(variables, {k: list(v) for k, v in self._calls.items()}, result, depth=1)
        with self._budget(self._random.randint(1, 5)):
            body = [*self._body(scope), *self._return(scope)]
        arguments = ", ".join(f"{{{kind}}}" for kind in parameters.values())
        self._calls.setdefault(result, []).append(f"{prefix}{name}({arguments})")
        head = f"def {name}({', '.join([first, *parameters] if first else parameters)}):"
        return "\n".join([head, *_indented(body)])

    def _generator_function(self) -> str:
        name = self._name("generate")
        scope = Scope({"v": "V", "n": "int"}, {k: list(v) for k, v in self._calls.items()}, "V", 1, 2, True)
        with self._budget(4):
            body = [*self._block(scope), f"yield {self._expression(scope, 'V')}"]
        lines = [f"def {name}(v, n):", f"    for i in range({self._random.choice(('3', 'n % 4', '2'))}):"]
        lines += _indented(_indented(body))
        call = f"{name}({{V}}, {{int}})"
        self._calls.setdefault("generator", []).append(call)
        self._calls.setdefault("LV", []).append(f"list({call})")
        self._calls.setdefault("V", []).append(f"next({call}, {{V}})")
        self._calls.setdefault("int", []).append(f"sum(1 for t in {call} if t.sum() > {{level}})")
        return "\n".join(lines)

    def _closure(self, scope: Scope) -> list[str]:
        """A function that reads, changes and assigns variables of the function around it."""
        result, kinds = self._random.choice(_HELPERS)
        name = self._name("inner")
        parameters = {self._name(kind): kind for kind in kinds.split(", ")}
        outer = [n for n, k in scope.variables.items() if "." not in n and k in ("V", "int", "float", "O", "LV")]
        assigned = self._random.sample(outer, min(len(outer), self._random.randint(0, 2)))
        inner = Scope({**scope.variables, **parameters}, dict(scope.calls), result, 0, 2)
        inner.fixed = scope.fixed | frozenset(set(scope.variables) - set(assigned))
        with self._budget(3):
            body = [*self._read_only(inner, scope, assigned), *self._return(inner)]
        head = [f"def {name}({', '.join(parameters)}):"]
        declared = [f"    nonlocal {', '.join(assigned)}"] if assigned else []
        call = f"{name}({', '.join(f'{{{k}}}' for k in parameters.values())})"
        scope.calls.setdefault(result, []).extend([call] * 3)
        return [*head, *declared, *_indented(body)]

    def _read_only(self, inner: Scope, outer: Scope, assigned: list[str]) -> list[str]:
        """A block that assigns none of the outer variables but ``assigned``: it would make them local."""
        locals_ = set(outer.variables) - set(assigned)
        for _ in range(10):
            before, names = self._names, dict(inner.variables)
            lines = self._block(inner)
            stored = {n.id for n in ast.walk(ast.parse("def f():\n" + indent("\n".join(lines), "    ")))
                      if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
            if not stored & locals_:
                return lines
            self._names, inner.variables = before, names
        return ["pass"]

    def _function(self, name: str, parameters: list[str], first: str = "") -> str:
        variables = {p: _PARAMETERS[p] for p in parameters} | (self._attributes() if first else {})
        scope = Scope(variables, {k: list(v) for k, v in self._calls.items()}, "result", depth=1)
        body = [line for _ in range(self._random.randint(1, 4)) for line in self._declare(scope)]
        body += self._body(scope)
        if first:
            body.append("self.items = self.items[-2:]")  # what calls leave behind stays finite
        body += self._return(scope)
        head = f"def {name}({', '.join([first, *parameters] if first else parameters)}):"
        return "\n".join([head, *_indented(body)])

    # ---- modules

    def _attributes(self) -> dict[str, str]:
        return {f"self.{name}": _ATTRIBUTES[name] for name in self._kept}

    def _module(self, parameters: list[str]) -> str:
        self._kept = self._random.sample(sorted(_ATTRIBUTES), self._random.randint(1, 4))
        if "items" not in self._kept:
            self._kept.append("items")
        values = {
            "count": "0", "best": "None", "items": "[]", "on": "False", "total": "0.0",
        }  # fmt: skip
        init = ["super().__init__()"]
        for name in self._kept:
            if name in values:
                init.append(f"self.{name} = {values[name]}")
            else:
                value = "torch.tensor([0.5, -0.25, 1.0])" if name == "buf" else "torch.tensor(0)"
                init.append(f"self.register_buffer('{name}', {value})")
        if self._random.random() < 0.4:
            weight = "torch.tensor([[0.5, 0.0, -0.5], [0.25, 1.0, 0.0], [0.0, -0.5, 0.5]])"
            init += ["self.linear = nn.Linear(3, 3)", f"self.linear.weight.data = {weight}"]
            init.append("self.linear.bias.data = torch.tensor([0.25, 0.0, -0.5])")
            init.append("self.requires_grad_(False)")
            self._calls.setdefault("V", []).append("self.linear({V}.clamp(-4, 4))")
            self._calls.setdefault("M", []).append("self.linear({M}.clamp(-4, 4))")
        parts = ["\n".join(["def __init__(self):", *_indented(init)])]
        for _ in range(self._random.randint(0, 1)):
            parts.append(self._helper("self.", "self"))
        parts.append(self._function("forward", parameters, "self"))
        return "class Net(nn.Module):\n" + indent("\n\n".join(parts), "    ")

    # ---- arguments

    def _parameters(self) -> list[str]:
        others = self._random.sample(sorted(set(_PARAMETERS) - {"x"}), self._random.randint(0, 3))
        return ["x", *others]

    def _value(self, parameter: str) -> str:
        match parameter:
            case "x":
                return self._floats(3)
            case "m":
                return f"torch.stack([{self._floats(3)}, {self._floats(3)}])"
            case "k":
                return f"torch.tensor({[self._random.randint(-3, 4) for _ in range(3)]})"
            case "d":
                return self._floats(self._random.randint(1, 4))
            case "n":
                return f"Dynamic({self._random.randint(-3, 6)})"
            case "t":
                return f"Dynamic({self._random.randint(-16, 16) / 8})"
            case "box":
                return f"Box({self._floats(3)}, {self._random.choice((0, 2))})"
        return f"[{self._floats(3)}, {self._floats(3)}]"

    def _floats(self, count: int) -> str:
        return f"torch.tensor({[self._random.randint(-20, 20) / 8 for _ in range(count)]})"


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def program_of(seed: int, size: int | None = None) -> str:
    """The source of program ``seed``; the same for ever, as long as the grammar is."""
    return Generator(seed, size).write()
