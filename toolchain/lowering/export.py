"""Subgraph -> graph of core ATen operations, by replaying it on fake tensors with unknown sizes.

``torch.export`` cannot describe what a subgraph promises: it specialises sizes 0 and 1 and equates sizes that are equal
in the example. Here every unknown extent and every scalar parameter is its own *unbacked* symbol, which has no example
value, so nothing can be specialised; an operation that insists on knowing a size is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.fx.traceback as fx_traceback
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv

from toolchain.diagnostics import LoweringError
from toolchain.ir import Argument, Constant, Location, Subgraph, TensorOp, TensorType, Type, Value, map_argument
from toolchain.lowering.decompositions import decomposition_table

aten = torch.ops.aten

# torch-mlir computes with bytes as if all were signed, or crashes iree-compile: arithmetic on them is done wider.
_NARROW = (torch.uint8, torch.int8)
_NARROW_TAGS = frozenset((torch.Tag.pointwise, torch.Tag.reduction))
_NARROW_UNTAGGED = frozenset(
    getattr(aten, name)
    for name in ("argmax", "argmin", "cumprod", "cumsum", "floor_divide", "max", "min", "sort", "topk")
)


def export(subgraph: Subgraph) -> torch.fx.GraphModule:
    """Placeholders are the parameters, then the weights, in order; scalars are ``SymInt`` or ``SymFloat``.

    Nodes carry the user's file and line as their stack trace. Raises LoweringError TC301 if an operation is unknown,
    returns something else than the IR says, or depends on a size in a way that cannot be compiled.
    """
    shapes = ShapeEnv()
    mode = FakeTensorMode(shape_env=shapes, allow_non_fake_inputs=True)
    replay = _Replay(subgraph)
    with mode, torch.no_grad(), fx_traceback.preserve_node_meta():
        kinds = [*(p.type for p in subgraph.parameters), *(w.type for w in subgraph.weights)]
        inputs = [_placeholder(shapes, kind) for kind in kinds]
        # These symbols are inputs; make_fx would look for an operation that produced them.
        shapes.pending_fresh_unbacked_symbols.clear()
        try:
            # Some decompositions work in place, which MLIR's values cannot.
            functional = torch.func.functionalize(replay, remove="mutations")
            graph = make_fx(functional, decomposition_table=decomposition_table(), tracing_mode="real")(*inputs)
        except LoweringError:
            raise
        except GuardOnDataDependentSymNode as error:
            raise replay.failure(f"depends on a size that is only known at run time ({error.cond})") from error
        except Exception as error:
            raise replay.failure(f"fails: {type(error).__name__}: {_first_line(error)}") from error
    return _cleaned(graph)


class _Replay:
    """Runs the operations of a subgraph; remembers which one is running, for messages."""

    def __init__(self, subgraph: Subgraph) -> None:
        self.subgraph = subgraph
        self.current: TensorOp | None = None

    def __call__(self, *inputs: Any) -> tuple[torch.Tensor, ...]:
        values: dict[Value | Constant, Any] = dict(
            zip((*self.subgraph.parameters, *self.subgraph.weights), inputs, strict=True)
        )
        for op in self.subgraph.operations:
            self.current = op
            fx_traceback.set_stack_trace([f'  File "{op.location.file}", line {op.location.line}, in forward\n'])
            values.update(zip(op.results, self._results(op, values), strict=True))
        self.current = None
        # An input or one value twice may be returned: the compiler wants results of their own.
        return tuple(values[result] for result in self.subgraph.results)

    def _results(self, op: TensorOp, values: dict[Value | Constant, Any]) -> Sequence[Any]:
        args = map_argument(op.args, lambda leaf: _lookup(leaf, values))
        kwargs = {key: map_argument(arg, lambda leaf: _lookup(leaf, values)) for key, arg in op.kwargs}
        operator = resolve(op.target, op.location)
        narrow = not _NARROW_TAGS.isdisjoint(operator.tags) or operator.overloadpacket in _NARROW_UNTAGGED
        if narrow:
            args = map_argument(args, _widen)
        out = operator(*args, **kwargs)
        results = [out] if isinstance(out, torch.Tensor) else list(out)
        if len(results) != len(op.results):
            # Results that an operation leaves undefined arrive as None; the IR may leave them out.
            results = [r for r in results if r is not None]
        if len(results) != len(op.results):
            raise self.failure(f"returns {len(results)} values where {len(op.results)} are expected")
        return [_cast_back(r, v.type) for r, v in zip(results, op.results, strict=True)] if narrow else results

    def failure(self, reason: str) -> LoweringError:
        what, where = ("its results", self.subgraph.location)
        if self.current is not None:
            what, where = (self.current.target, self.current.location)
        return LoweringError(
            "TC301",
            f"subgraph {self.subgraph.name}, {where}: {what} {reason}",
            "keep this operation out of the compiled part, or write it with operations that do not need the value",
        )


def _cleaned(graph: torch.fx.GraphModule) -> torch.fx.GraphModule:
    _forget_strides(graph.graph)
    _forget_float_sizes(graph.graph)
    _round_numbers(graph.graph)
    # Tracing leaves arithmetic on sizes that only served its own checks, some of it unknown to torch-mlir.
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return graph


def _forget_strides(graph: torch.fx.Graph) -> None:
    """Strides of unknown extents are computed with ``sym_max``, which torch-mlir lacks; its tensors have no strides."""
    for node in graph.nodes:
        position = {aten.empty_strided.default: 1, aten.new_empty_strided.default: 2}.get(node.target)
        if position is not None:
            node.target = aten.empty.memory_format if position == 1 else aten.new_empty.default
            node.args = node.args[:position] + node.args[position + 1 :]


def _forget_float_sizes(graph: torch.fx.Graph) -> None:
    """Sizes as operands of float tensors are converted with ``sym_float``, which torch-mlir lacks; its scalars are
    numbers of either kind."""
    for node in graph.nodes:
        scalars_only = all(isinstance(user.target, torch._ops.OpOverload) for user in node.users)
        if node.target is torch.sym_float and scalars_only:
            node.replace_all_uses_with(node.args[0])


def _round_numbers(graph: torch.fx.Graph) -> None:
    """Numbers that meet elements in floating point become such numbers, rounded like float32 elements, as in PyTorch.

    The compiler would round them on the device, with float64 instructions that many GPUs lack; and torch-mlir folds an
    operation of a constant tensor and an integer with the bits of the wrong type.
    """
    for node in graph.nodes:
        dtype = _float_elements(node)
        if dtype is not None:
            left_out = node.target._schema.arguments[len(node.args) :]
            defaults = () if node.kwargs else (a.default_value for a in left_out if not a.kwarg_only)
            # The kind of an exponent decides how a power is computed.
            kinds = (float,) if node.target.overloadpacket is aten.pow else (int, float)
            node.args = tuple(_rounded(a, dtype) if type(a) in kinds else a for a in (*node.args, *defaults))


def _rounded(number: float, dtype: torch.dtype) -> float:
    return torch.tensor(number, dtype=torch.float32).item() if dtype == torch.float32 else float(number)


def _float_elements(node: torch.fx.Node) -> torch.dtype | None:
    """The type of the results of an operation on each element, if that is in floating point."""
    operator, dtype = node.target, getattr(node.meta.get("val"), "dtype", None)
    if not isinstance(operator, torch._ops.OpOverload) or dtype is None or not dtype.is_floating_point:
        return None
    known = torch.Tag.pointwise in operator.tags or operator.overloadpacket in (aten.full, aten.full_like, aten.where)
    return dtype if known else None


def resolve(target: str, location: Location) -> Any:
    """``"aten.add.Tensor"`` -> ``torch.ops.aten.add.Tensor``; LoweringError TC301 when there is no such operation."""
    found: Any = torch.ops
    try:
        for part in target.split("."):
            found = getattr(found, part)
    except AttributeError:
        raise LoweringError(
            "TC301", f"{location}: there is no operation {target}", "import the library that registers it"
        ) from None
    return found


def _lookup(leaf: Argument, values: dict[Value | Constant, Any]) -> Any:
    return values[leaf] if isinstance(leaf, (Value, Constant)) else leaf


def _widen(leaf: Any) -> Any:
    return leaf.to(torch.int32) if isinstance(leaf, torch.Tensor) and leaf.dtype in _NARROW else leaf


def _cast_back(result: Any, kind: Type) -> Any:
    if isinstance(kind, TensorType) and getattr(torch, kind.dtype) in _NARROW:
        return result.to(getattr(torch, kind.dtype))
    return result


def _placeholder(shapes: ShapeEnv, kind: Type) -> Any:
    if isinstance(kind, TensorType):
        dims = [_size(shapes) if dim is None else dim for dim in kind.dims]
        return torch.empty(dims, dtype=getattr(torch, kind.dtype))
    return shapes.create_unbacked_symfloat() if str(kind) == "float" else shapes.create_unbacked_symint()


def _size(shapes: ShapeEnv) -> torch.SymInt:
    size = shapes.create_unbacked_symint()
    torch._check(size >= 0)  # type: ignore[no-untyped-call]
    return size


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
