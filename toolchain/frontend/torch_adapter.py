"""The only place that touches PyTorch's private interfaces for fake tensors and symbolic shapes.

``PathShapeEnv`` never learns anything by itself: every question about a symbol goes to the path that is being explored,
so that what one path assumes cannot leak into another.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any, Protocol

import sympy
import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
)
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_map

FAKE_TENSOR_ERRORS = (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedFakeTensorException,
    UnsupportedOperatorException,
    GuardOnDataDependentSymNode,
)


class Questions(Protocol):
    """What a ``PathShapeEnv`` asks of the path."""

    @property
    def is_recording(self) -> bool: ...

    def answer(self, expr: sympy.Basic) -> bool: ...

    def known(self, expr: sympy.Basic) -> bool | None: ...

    def names(self, expr: sympy.Basic) -> bool:
        """Whether all symbols have a run-time value; those of a result that is being computed do not yet."""

    def integer(self, expr: sympy.Basic) -> int: ...

    def require(self, expr: sympy.Basic, text: str) -> None: ...


class PathShapeEnv(ShapeEnv):
    """A ShapeEnv whose guards are decisions of the path; it has unbacked symbols only."""

    def __init__(self, questions: Questions) -> None:
        super().__init__(specialize_zero_one=False, duck_shape=False)
        self._questions = questions

    def evaluate_expr(
        self,
        orig_expr: sympy.Basic,
        hint: object = None,
        fx_node: object = None,
        size_oblivious: bool = False,
        fallback_value: bool | None = None,
        *,
        forcing_spec: bool = False,
    ) -> sympy.Basic:
        if not orig_expr.free_symbols:
            return orig_expr
        if not isinstance(orig_expr, (sympy.core.relational.Relational, sympy.logic.boolalg.BooleanFunction)):
            return sympy.Integer(self._questions.integer(orig_expr))
        truth = self._questions.known(orig_expr)
        if truth is None and not self._questions.is_recording:
            truth = bool(
                fallback_value
            )  # metadata of a tensor whose contents exist already: only its layout is at stake
        if truth is None and fallback_value is not None:
            # PyTorch's own conservative answer. Where it stands for an assumption, a deferred check says so and becomes
            # one of the program (``require``); what it would get silently wrong was decided before (``shapes.before``).
            truth = fallback_value
        if truth is None:
            truth = self._questions.answer(orig_expr)
        return sympy.true if truth else sympy.false

    def guard_or_defer_runtime_assert(self, orig_expr: sympy.Basic, msg: str, fx_node: object = None) -> bool:  # type: ignore[override]
        truth = self._questions.known(orig_expr)
        if truth is None:
            self._questions.require(orig_expr, "the sizes of the arguments do not fit together")
            return True
        return truth

    def _maybe_evaluate_static(self, expr: sympy.Basic, **_: Any) -> sympy.Basic | None:  # type: ignore[override]
        if not isinstance(expr, (sympy.core.relational.Relational, sympy.logic.boolalg.BooleanFunction)):
            return expr if not expr.free_symbols else None
        truth = self._questions.known(expr)
        return None if truth is None else (sympy.true if truth else sympy.false)

    def _constrain_range_for_size(self, a: sympy.Symbol, min: int | None = None, max: int | None = None) -> None:
        """Sizes are not negative; the path learns that when it names the symbol."""


def make_fake_mode(questions: Questions) -> FakeTensorMode:
    mode = FakeTensorMode(shape_env=PathShapeEnv(questions), allow_non_fake_inputs=True, allow_fallback_kernels=False)
    mode.cache_enabled = False  # a cached answer would skip the questions that make a path
    return mode


def new_int(fake_mode: FakeTensorMode) -> torch.SymInt:
    assert fake_mode.shape_env is not None
    return fake_mode.shape_env.create_unbacked_symint()


def new_float(fake_mode: FakeTensorMode) -> torch.SymFloat:
    assert fake_mode.shape_env is not None
    return fake_mode.shape_env.create_unbacked_symfloat()


def forget_fresh_symbols(fake_mode: FakeTensorMode) -> None:
    """PyTorch insists that each fresh symbol shows up in the output of the operation that made it; ours need not."""
    assert fake_mode.shape_env is not None
    fake_mode.shape_env.pending_fresh_unbacked_symbols.clear()


def expression_of(number: Any) -> sympy.Basic:
    """The sympy expression of a raw SymInt, SymFloat or SymBool."""
    expr: sympy.Basic = number.node.expr
    return expr


def expression(number: Any) -> sympy.Basic:
    """The sympy expression of a raw or plain integer."""
    return expression_of(number) if is_symbolic(number) else sympy.Integer(number)


def is_symbolic(number: object) -> bool:
    return isinstance(number, (torch.SymInt, torch.SymFloat, torch.SymBool))


def forget_constant(tensor: torch.Tensor) -> None:
    """Stops PyTorch from folding operations on a small literal tensor behind the recorder's back."""
    if isinstance(tensor, FakeTensor):
        tensor.constant = None


def forget_memos(tensor: torch.Tensor) -> None:
    """Fake tensors remember the symbols of their last nonzero/item/unique; a path must not inherit another's."""
    if isinstance(tensor, FakeTensor):
        for memo in ("nonzero_memo", "item_memo", "unique_memo", "unique_consecutive_memo"):
            setattr(tensor, memo, None)


def to_fake(fake_mode: FakeTensorMode, arguments: Any) -> Any:
    """``arguments`` with every real tensor replaced by its fake twin: a kernel must never touch a real one."""

    def convert(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and not isinstance(leaf, FakeTensor):
            return fake_mode.from_tensor(leaf, static_shapes=True)
        return leaf

    return tree_map(convert, arguments)


def fake_results(name: str, arguments: Any) -> tuple[torch.Tensor, ...] | None:
    """The results of operations whose shapes PyTorch finds out slowly; called within the fake mode.

    Batch normalisation in eval mode runs as seventeen operations there: a quarter of the time to explore a network.
    """
    if name != "native_batch_norm" or arguments[5]:
        return None
    images = arguments[0]
    if {t.dtype for t in arguments[:5] if t is not None} != {images.dtype}:
        return None
    return torch.empty_like(images), images.new_empty(0), images.new_empty(0)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Inside: fake tensors do not log the exceptions of operations; they are the program's, which may handle them."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    was_disabled, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = was_disabled


def real_mode() -> Any:
    """Inside: tensor operations run on real tensors and nobody records them."""
    return _disable_current_modes()


__all__ = ["FAKE_TENSOR_ERRORS", "FakeTensor", "FakeTensorMode", "PathShapeEnv", "Questions"]
