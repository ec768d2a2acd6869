"""Random programs as a front end would make them: joins and heads pass every variable, needed or not."""

from __future__ import annotations

from random import Random

import torch

from tests.ir.programs import S, V, make_program, positive, weight
from toolchain.ir import BOOL, FLOAT, INT, STR, Leaf, Operand, Program, Sequence, TensorType, Type, Value
from toolchain.ir.builder import BlockBuilder, FunctionBuilder

_TYPES: dict[str, Type] = {"a": V, "b": V, "i": INT, "j": INT}
_CONSTANTS = {"w0": torch.tensor([1.0, -2.0, 0.5, 3.0]), "w1": torch.tensor([-1.0, 0.0, 2.0, -0.5])}


class RandomProgram:
    """Writes a function statement by statement; ``variables`` is what the user's variables hold at this point."""

    def __init__(self, seed: int, size: int) -> None:
        self._random = Random(seed)
        self._budget = size
        self._function = FunctionBuilder("random")
        self._block: BlockBuilder | None = self._function.block(V, INT)
        a, i = self._block.parameters
        self._variables: dict[str, Operand] = {"a": a, "b": weight("w0"), "i": i, "j": 0}
        # (block to continue with, block behind) of the loops around; both take all variables, heads a counter more.
        self._loops: list[tuple[BlockBuilder, Value, BlockBuilder]] = []

    def make(self) -> Program:
        self._statements(0)
        if self._block is not None:
            self._return()
        return make_program(self._function.build(), inputs=(V, INT), constants=_CONSTANTS)

    def _statements(self, depth: int) -> None:
        for _ in range(self._random.randint(1, 5)):
            if self._block is None or self._budget <= 0:
                return
            self._budget -= 1
            self._statement(depth)

    def _statement(self, depth: int) -> None:
        simple = [self._tensor, self._tensor, self._number, self._observe, self._move]
        compound = [self._if, self._if, self._loop] if depth < 4 else []
        leaving = [self._leave] if depth else []
        chosen = self._random.choice([*simple, *compound, *leaving])
        if chosen in compound:
            chosen(depth)  # type: ignore[call-arg]
        else:
            chosen()  # type: ignore[call-arg]

    def _here(self) -> BlockBuilder:
        assert self._block is not None
        return self._block

    def _pick(self, *names: str) -> Operand:
        return self._variables[self._random.choice(names)]

    def _tensor(self) -> None:
        here, x = self._here(), self._pick("a", "b")
        choices = [
            lambda: here.tensor("aten.add.Tensor", x, self._pick("a", "b")),
            lambda: here.tensor("aten.mul.Tensor", x, 0.5),
            lambda: here.tensor("aten.add.Tensor", x, self._pick("i", "j")),
            lambda: here.tensor("aten.clone.default", x),
            lambda: here.tensor("aten.zeros.default", (4,), type=V),
            lambda: here.tensor("aten.sub.Tensor", x, weight("w1")),
            lambda: here.tensors("aten.sort.default", x, types=(V, TensorType("int64", (4,))))[0],
        ]
        self._variables[self._random.choice("ab")] = self._random.choice(choices)()

    def _number(self) -> None:
        here, i, j = self._here(), self._pick("i", "j"), self._pick("i", "j")
        opcode = self._random.choice(["add", "sub", "min", "max", "mod", "floordiv"])
        right = self._random.choice([1, 2, 3]) if opcode in ("mod", "floordiv") else self._random.choice([j, 1, 2])
        self._variables[self._random.choice("ij")] = here.host(opcode, i, right, type=INT)

    def _move(self) -> None:
        names = self._random.choice([("a", "b"), ("i", "j")])
        first, second = (self._variables[n] for n in names)
        self._variables.update(zip(names, (second, first), strict=True))

    def _observe(self) -> None:
        here = self._here()
        if self._random.random() < 0.5:
            divisor = self._pick("i", "j")
            self._variables["i"] = here.host("floordiv", 12, divisor, type=INT)
        elif self._random.random() < 0.5:
            below = here.host("lt", self._pick("i", "j"), self._random.choice([3, 9, 100]), type=BOOL)
            here.effect("check", below, attributes=("IndexError", f"check {self._random.randint(0, 99)}"))
        else:
            total = here.tensor("aten.sum.default", self._pick("a", "b"), type=S)
            total = here.tensor("aten.clamp.default", total, -50, 50, type=S)
            number = here.host("item", total, type=FLOAT)
            self._variables["j"] = here.host("round", number, type=INT)

    def _condition(self) -> Value:
        here = self._here()
        if self._random.random() < 0.5:
            return positive(here, self._pick("a", "b"))
        opcode = self._random.choice(["lt", "ge", "eq"])
        return here.host(opcode, self._pick("i", "j"), self._random.choice([self._pick("i", "j"), 2]), type=BOOL)

    def _values(self) -> tuple[Operand, ...]:
        return tuple(self._variables[name] for name in _TYPES)

    def _join(self) -> BlockBuilder:
        return self._function.block(*_TYPES.values())

    def _enter(self, block: BlockBuilder) -> None:
        self._block = block
        self._variables = dict(zip(_TYPES, block.parameters, strict=False))

    def _if(self, depth: int) -> None:
        condition, here, before = self._condition(), self._here(), dict(self._variables)
        then, join = self._function.block(), self._join()
        has_else = self._random.random() < 0.5
        sides = [then, self._function.block()] if has_else else [then]
        here.branch(condition, (then,), (sides[1],) if has_else else (join, *self._values()))
        joined = not has_else
        for side in sides:
            self._block, self._variables = side, dict(before)
            self._statements(depth + 1)
            if self._block is not None:
                self._block.jump(join, *self._values())
                joined = True
        self._enter(join)
        if not joined:
            join.raise_("AssertionError")  # unreachable, and left out by the builder
            self._block = None

    def _loop(self, depth: int) -> None:
        """At most three times round, unless forced."""
        head = self._function.block(*_TYPES.values(), INT)
        after, body = self._join(), self._function.block()
        self._here().jump(head, *self._values(), 0)
        self._enter(head)
        counter = head.parameters[-1]
        rounds = self._random.randint(1, 3)
        is_data = self._random.random() < 0.3
        condition = positive(head, head.parameters[0]) if is_data else head.host("lt", counter, rounds, type=BOOL)
        head.branch(condition, (body,), (after, *self._values()))
        self._block = body
        if is_data:
            below = body.host("lt", counter, rounds, type=BOOL)
            bounded = self._function.block()
            body.branch(below, (bounded,), (after, *self._values()))
            self._block = bounded
        self._loops.append((head, counter, after))
        self._statements(depth + 1)
        if self._block is not None:
            self._continue()
        self._loops.pop()
        self._enter(after)

    def _continue(self) -> None:
        head, counter, _ = self._loops[-1]
        here = self._here()
        here.jump(head, *self._values(), here.host("add", counter, 1, type=INT))
        self._block = None

    def _leave(self) -> None:
        chance = self._random.random()
        if self._loops and chance < 0.4:
            self._here().jump(self._loops[-1][2], *self._values())
            self._block = None
        elif self._loops and chance < 0.7:
            self._continue()
        elif chance < 0.85:
            self._return()
        else:
            text = self._here().host("str", self._pick("i", "j"), type=STR)
            self._here().raise_("KeyError", text)
            self._block = None

    def _return(self) -> None:
        self._here().return_(Sequence("tuple", tuple(Leaf(v) for v in self._values())))
        self._block = None
