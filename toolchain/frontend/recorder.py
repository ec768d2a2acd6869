"""Records what the user's program does as IR operations of one block.

A dispatch mode above the fake tensor mode: every ATen operation that reaches it is executed on fake tensors (for shapes
and errors) and emitted in functional form. ``functional.py`` turns in-place operations into storage versions;
``checks.py`` adds what eager checks at run time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import sympy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from toolchain.frontend import checks, functional, torch_adapter
from toolchain.frontend.constants import ConstantPool, tensor_type
from toolchain.frontend.context import NO_ORIGINS, Staged
from toolchain.frontend.numbers import StagedBool, StagedInt, StagedNumber, to_bool
from toolchain.frontend.ranges import ElementRanges
from toolchain.frontend.signals import NeedsConstant, Origin, PathEnds, Signal, Unsupported, builtin_name
from toolchain.frontend.staged import HostList, StagedStr, wrap
from toolchain.frontend.storages import PathState, Storage, View
from toolchain.frontend.symbols import SymbolSource, SymbolTable
from toolchain.ir import (
    BOOL,
    FLOAT,
    INT,
    Argument,
    HostOp,
    Location,
    Operand,
    Operation,
    TensorOp,
    Type,
    Value,
)

aten = torch.ops.aten


@dataclass(slots=True)
class Ghost:
    """A block that must be run again to get to a decision inside native code: its operations are already recorded."""

    operations: list[Operation]
    condition: int
    answer: bool


class NotDeterministic(Signal):
    """Running a block again did not give the same operations."""


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The tensor side of the exploration of one program.

    operations: of the block that is being recorded.
    state:      what the path knows.
    fork:       the condition that ended the block, if a decision did.
    """

    is_symbolic = True

    def __init__(
        self, constants: ConstantPool, locate: Callable[[], Location], raising_shows: Callable[[], bool]
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.constants = constants
        self.locate = locate
        self.raising_shows = raising_shows
        self.fake_mode = torch_adapter.make_fake_mode(self)
        self.symbols = SymbolTable()
        self.ranges = ElementRanges(constants.tensors)
        self.state = PathState.empty()
        self.operations: list[Operation] = []
        self.fork: StagedBool | None = None
        self.closed = False
        self.reason: Signal | None = None
        self._paused = 0
        self._next_id = 0
        self._ghosts: deque[Ghost] = deque()
        self._ghost_position = 0
        self._definitions: dict[int, tuple[TensorOp, int]] = {}

    # ---- blocks

    def open(self, state: PathState, ghosts: tuple[Ghost, ...] = ()) -> None:
        """Starts a block in ``state``; ``ghosts`` are run first, without recording them again."""
        self.state = state
        self.operations = []
        self.fork = None
        self.closed = False
        self.reason = None
        self._ghosts = deque(ghosts)
        self._ghost_position = 0

    def new_value(self, type_: Type, name: str = "") -> Value:
        self._next_id += 1
        return Value(self._next_id, type_, name)

    def _append(self, make: Callable[[tuple[Value, ...]], Operation], types: tuple[Type, ...]) -> tuple[Value, ...]:
        if self.closed:
            raise PathEnds
        if self._ghosts:
            recorded = self._ghosts[0].operations
            if self._ghost_position < len(recorded):
                operation = recorded[self._ghost_position]
                if make(operation.results) != operation:
                    raise NotDeterministic(f"{operation} was recorded, {make(operation.results)} came")
                self._ghost_position += 1
                return operation.results
            raise NotDeterministic("more operations than recorded")
        results = tuple(self.new_value(t) for t in types)
        self.operations.append(make(results))
        return results

    # ---- host operations (the Context of staged values)

    def host(
        self, opcode: str, operands: tuple[Operand, ...], result: Type, attributes: tuple[object, ...] = ()
    ) -> Value:
        return self.host_many(opcode, operands, (result,), attributes)[0]

    def host_many(
        self, opcode: str, operands: tuple[Operand, ...], results: tuple[Type, ...], attributes: tuple[object, ...] = ()
    ) -> tuple[Value, ...]:
        location = self.locate()
        return self._append(lambda r: HostOp(opcode, operands, r, attributes, location), results)

    def _host_for_symbols(self, opcode: str, operands: Any, result: Any, attributes: Any) -> Operand:
        return self.host(opcode, operands, result, attributes)

    def int_symbol(self, operand: Any, is_data: bool, origins: frozenset[Origin]) -> torch.SymInt:
        symbol = torch_adapter.new_int(self.fake_mode)
        torch_adapter.forget_fresh_symbols(self.fake_mode)
        self.symbols.define(torch_adapter.expression_of(symbol), SymbolSource(operand, None, is_data, origins))
        return symbol

    def float_symbol(self, operand: Any) -> torch.SymFloat:
        symbol = torch_adapter.new_float(self.fake_mode)
        torch_adapter.forget_fresh_symbols(self.fake_mode)
        self.symbols.define(torch_adapter.expression_of(symbol), SymbolSource(operand, None, True))
        return symbol

    def operand_of_expr(self, expr: sympy.Basic) -> Operand:
        return self.symbols.operand(expr, self._host_for_symbols)

    def box(self, number: Any) -> Any:
        """A raw SymInt, SymFloat or SymBool as a staged value (or as a plain number, if the path knows it)."""
        expr = torch_adapter.expression_of(number)
        if isinstance(number, torch.SymInt):
            known = self.state.facts.constant(expr)
            if known is not None:
                return known
        is_data, origins = self.symbols.is_data(expr), self.symbols.origins(expr)
        operand = self.operand_of_expr(expr)
        if isinstance(number, torch.SymInt):
            return wrap(operand, INT, is_data, origins, sym=number)
        if isinstance(number, torch.SymBool):
            return wrap(operand, BOOL, is_data, origins, expr=expr)
        return wrap(operand, FLOAT, is_data, origins)

    # ---- decisions

    def decide(self, condition: StagedBool) -> bool:
        """The answer of this path; ends the block when the path has none yet."""
        if self.closed:
            raise PathEnds
        operand = condition.operand
        if not isinstance(operand, Value):
            return bool(operand)
        truth = self.known_decision(condition)
        if truth is not None:
            return truth
        self.fork = condition
        self.closed = True
        raise PathEnds

    def learn(self, condition: StagedBool, answer: bool) -> None:
        self.state.decided[condition.operand.id] = answer
        if condition.expr is not None:
            self.state.facts.learn(condition.expr, answer)

    def known_decision(self, condition: StagedBool) -> bool | None:
        """The answer if the path has one; consumes the answer of a block that is being run again."""
        if not isinstance(condition.operand, Value):
            return bool(condition.operand)
        state, key = self.state, condition.operand.id
        if (
            self._ghosts
            and self._ghosts[0].condition == key
            and self._ghost_position == len(self._ghosts[0].operations)
        ):
            ghost = self._ghosts.popleft()
            self._ghost_position = 0
            state.depth += 1
            self.learn(condition, ghost.answer)
            return ghost.answer
        if key in state.decided:
            return state.decided[key]
        return None if condition.expr is None else state.facts.evaluate(condition.expr)

    def peek(self, condition: StagedBool) -> bool | None:
        """The answer if the path has one already, without ending the block."""
        if not isinstance(condition.operand, Value):
            return bool(condition.operand)
        if condition.operand.id in self.state.decided:
            return self.state.decided[condition.operand.id]
        return None if condition.expr is None else self.state.facts.evaluate(condition.expr)

    def known_int(self, value: StagedInt) -> int | None:
        """The only value that ``value`` can have on this path, or None."""
        return self.state.facts.constant(torch_adapter.expression_of(value.sym))

    def constant(self, value: StagedNumber | StagedStr, what: str) -> Any:
        if isinstance(value.operand, (int, float, str)):
            return value.operand
        sym = getattr(value, "sym", None)
        if sym is not None:
            known = sym if isinstance(sym, int) else self.state.facts.constant(torch_adapter.expression_of(sym))
            if known is not None:
                return known
        self.need_constant(value.origins, what)

    def need_constant(self, origins: frozenset[Origin], what: str) -> NoReturn:
        if origins:
            self.stop(NeedsConstant(origins, what))
        self.stop(
            Unsupported(
                "TC121",
                f"a value that is only known at run time is needed as a constant ({what})",
                "compute it from constants, or use it as a size, an index or an operand of tensor operations",
            )
        )

    def stop(self, signal: Signal) -> NoReturn:
        """Ends the block with ``signal``, also if native code between here and the machine swallows it."""
        self.closed = True
        self.reason = signal
        raise signal

    # ---- questions of the shape environment (torch_adapter.Questions)

    @property
    def is_recording(self) -> bool:
        return not self._paused and not self.closed

    def known(self, expr: sympy.Basic) -> bool | None:
        return self.state.facts.evaluate(expr)

    def answer(self, expr: sympy.Basic) -> bool:
        if not self.names(expr):
            self.stop(Unsupported("TC132", f"PyTorch asks about a size that has no run-time value ({expr})"))
        operand = self.operand_of_expr(expr)
        condition = StagedBool(operand, self.symbols.is_data(expr), self.symbols.origins(expr), expr)
        return self.decide(condition)

    def names(self, expr: sympy.Basic) -> bool:
        return all(s in self.symbols for s in expr.free_symbols)

    def integer(self, expr: sympy.Basic) -> int:
        known = self.state.facts.constant(expr)
        if known is not None:
            return known
        self.need_constant(self.symbols.origins(expr), "an argument of a PyTorch function")
        raise AssertionError

    def require(self, expr: sympy.Basic, text: str) -> None:
        """PyTorch checks ``expr``; so does the compiled program."""
        if not self.names(expr):
            return  # about a fresh extent that the operation itself guarantees
        self.check(StagedBool(self.operand_of_expr(expr), False, NO_ORIGINS, expr), RuntimeError, text)

    def require_staged_value(self, condition: Any, exception: type[Exception], text: str) -> None:
        """``check`` of a staged or plain bool."""
        if isinstance(condition, StagedBool):
            self.check(condition, exception, text)
        elif not condition:
            raise exception(text)

    def require_staged(self, condition: Any, exception: type[Exception], text: str) -> None:
        """``check`` of a raw symbolic condition."""
        self.require_staged_value(
            self.box(condition) if torch_adapter.is_symbolic(condition) else condition, exception, text
        )

    def check(self, condition: StagedBool, exception: type[Exception], text: str) -> None:
        """Raises ``exception(text)`` at run time unless ``condition`` holds: a decision if what the call has done until
        then can be seen afterwards."""
        known = self.peek(condition)
        if known is None and self.raising_shows():
            known = self.decide(condition)
        if known is False:
            raise exception(text)
        if known is None:
            self.host_many("check", (condition.operand,), (), (builtin_name(exception), text))
            if condition.expr is not None:
                self.state.facts.learn(condition.expr, True)
            self.state.decided[condition.operand.id] = True

    # ---- tensors

    def view_of(self, tensor: torch.Tensor) -> View:
        if isinstance(tensor, torch_adapter.FakeTensor):
            view = tensor.__dict__.get("_toolchain_view")
            if view is None:
                raise Unsupported("TC133", "a tensor came out of native code that PyTorch's dispatcher did not see")
            assert isinstance(view, View)
            return view
        return self.constants.view(tensor)

    def adopt(self, tensor: torch.Tensor, view: View, operand: Operand) -> None:
        """``tensor`` is ``view``, whose present contents are ``operand``."""
        tensor.__dict__["_toolchain_view"] = view
        self.state.values[view] = (self.state.version(view.storage), operand)
        torch_adapter.forget_constant(tensor)
        if isinstance(operand, Value):
            self._name_extents(tensor, operand)

    def new_tensor(self, shape: tuple[Any, ...], dtype: torch.dtype, operand: Operand) -> torch.Tensor:
        """A tensor with contents ``operand``."""
        return functional.fresh_root(self, shape, dtype, operand)

    def adopt_root(self, tensor: torch.Tensor, operand: Operand) -> None:
        self.adopt(tensor, View(Storage(), tuple(tensor.shape)), operand)

    def _name_extents(self, tensor: torch.Tensor, operand: Value) -> None:
        for dim, extent in enumerate(tensor.shape):
            if isinstance(extent, torch.SymInt):
                expr = torch_adapter.expression_of(extent)
                if isinstance(expr, sympy.Symbol) and expr not in self.symbols:
                    self.symbols.define(expr, SymbolSource(operand, dim, False))
                if isinstance(expr, sympy.Symbol) and expr not in self.state.facts.ranges:
                    self.state.facts.declare(expr, 0)

    def value_of(self, tensor: torch.Tensor) -> Operand:
        return self.value_of_view(self.view_of(tensor))

    def value_of_view(self, view: View) -> Operand:
        version = self.state.version(view.storage)
        known = self.state.values.get(view)
        if known is not None and known[0] == version:
            return known[1]
        if view.base is None:
            if view.storage.real is None or version:
                raise AssertionError("a storage without a value")
            operand: Operand = self.constants.constant(view.storage)
        else:
            operand = functional.derive(self, view)
        self.state.values[view] = (version, operand)
        return operand

    def encode(self, argument: Any) -> Argument:
        """A raw argument of an ATen operation as the IR has it."""
        if isinstance(argument, torch.Tensor):
            return self.value_of(argument)
        if torch_adapter.is_symbolic(argument):
            expr = torch_adapter.expression_of(argument)
            known = self.state.facts.constant(expr) if isinstance(argument, torch.SymInt) else None
            return self.operand_of_expr(expr) if known is None else known
        if isinstance(argument, (Staged, HostList)):
            return argument.operand
        if isinstance(argument, (tuple, list)):
            return tuple(self.encode(a) for a in argument)
        if isinstance(argument, torch.device):
            return str(argument)
        return argument

    def emit(
        self, func: Any, args: Any, kwargs: Any, inputs: Any, outputs: list[torch.Tensor | None]
    ) -> list[Value | None]:
        """Appends one functional operation; returns a value per output (None for outputs that are None)."""
        location = self.locate()
        target = f"{func._schema.name.replace('::', '.')}.{func._overloadname}"
        present = [o for o in outputs if o is not None]
        if len(present) != len(outputs):
            raise Unsupported("TC134", f"{target} has an optional result that is absent")
        pairs = tuple(sorted((k, v) for k, v in kwargs.items() if k not in ("device", "pin_memory", "layout")))
        types = tuple(tensor_type(o) for o in present)
        fresh = not self._ghosts
        results = self._append(lambda r: TensorOp(target, tuple(args), pairs, r, location), types)
        if fresh:
            operation = self.operations[-1]
            assert isinstance(operation, TensorOp)
            for i, r in enumerate(results):
                self._definitions[r.id] = (operation, i)
            self.ranges.infer(target, tuple(args), tuple(inputs), results)
        return list(results)

    def apply(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """Records an operation that the recorder itself adds."""
        return self.__torch_dispatch__(func, (), args, kwargs)

    def paused(self) -> _Pause:
        """Inside: tensor operations run on fake tensors and are not recorded."""
        return _Pause(self)

    # ---- dispatch

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._paused or func.namespace == "prim":
            return func(*args, **kwargs)
        if self.closed:
            raise PathEnds
        return functional.dispatch(self, func, args, kwargs)

    # ---- reading elements

    def read(self, tensor: torch.Tensor) -> Any:
        """``tensor.item()`` as a staged value, or a plain number where the element is known at build time."""
        if tensor.numel() != 1:  # a decision, if the extent is unknown
            raise RuntimeError(f"a Tensor with {_show(tensor.numel())} elements cannot be converted to Scalar")
        if tensor.is_complex():
            raise Unsupported("TC135", "reading a complex number out of a tensor")
        folded = self.fold(self.value_of(tensor), tensor)
        if folded is not None:
            with torch_adapter.real_mode():
                return folded.item()
        operand = self.value_of(tensor)
        assert isinstance(operand, Value)
        if operand.id not in self.state.items:
            kind = BOOL if tensor.dtype == torch.bool else FLOAT if tensor.is_floating_point() else INT
            staged = wrap(self.host("item", (operand,), kind), kind, True)
            known = self.ranges.of(operand)
            if kind == INT and known is not None:
                self.state.facts.declare(torch_adapter.expression_of(staged.sym), *known)
            elif kind == INT:
                self.state.facts.declare(torch_adapter.expression_of(staged.sym), -(2**63), 2**63 - 1)
            self.state.items[operand.id] = staged
        return self.state.items[operand.id]

    def truth(self, tensor: torch.Tensor) -> Any:
        """``bool(tensor)`` without deciding it."""
        if tensor.numel() != 1:
            what = "no values" if tensor.numel() == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return to_bool(self.read(tensor))

    def fold(self, operand: Operand, like: torch.Tensor) -> torch.Tensor | None:
        """The contents of ``operand`` if they follow from constants that no call changes; None otherwise."""
        if any(not isinstance(n, int) for n in like.shape) or like.numel() > 65536:
            return None
        return checks.fold(operand, self._definitions, self.constants.tensors)


class _Pause:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __enter__(self) -> None:
        self._recorder._paused += 1

    def __exit__(self, *_: object) -> None:
        self._recorder._paused -= 1


def _show(number: Any) -> str:
    return str(number) if isinstance(number, int) else "an unknown number of"
