"""From PyTorch's mutable operations and views to functional ones over storage versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend import checks, shapes, torch_adapter
from toolchain.frontend.numbers import symbol
from toolchain.frontend.overlaps import check_overlap
from toolchain.frontend.signals import KeepIdentity, Unsupported
from toolchain.frontend.storages import Storage, View
from toolchain.ir import Argument, Operand

if TYPE_CHECKING:
    from toolchain.frontend.recorder import Recorder

aten = torch.ops.aten

_RANDOM = frozenset(
    [
        "rand", "rand_like", "randn", "randn_like", "randint", "randint_like", "randperm", "bernoulli", "bernoulli_",
        "multinomial", "normal", "normal_", "uniform_", "random_", "exponential_", "geometric_", "cauchy_",
        "log_normal_", "native_dropout", "rrelu_with_noise", "poisson",
    ]
)  # fmt: skip
METADATA_OPERATIONS = frozenset(
    [
        "set_", "resize_", "resize_as_", "as_strided_", "transpose_", "t_", "squeeze_", "unsqueeze_", "swapaxes_",
        "swapdims_", "detach_",
    ]
)  # fmt: skip
_STRUCTURAL_CHECKS = frozenset(
    ("_assert_async", "_assert_scalar", "_functional_assert_async", "sym_constrain_range_for_size")
)


_RESHAPES = frozenset(("view", "reshape", "_unsafe_view"))


def dispatch(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = func._schema.name.split("::")[1]
    if func is aten._local_scalar_dense.default:
        return _local_scalar(recorder, args[0])
    if name in ("lift_fresh", "lift_fresh_copy"):
        return _literal(recorder, func, args)
    if name in _RANDOM:
        raise Unsupported(
            "TC140",
            f"torch.{name.rstrip('_')} draws random numbers",
            "draw outside of the model and pass the numbers in",
        )
    if name in METADATA_OPERATIONS:
        return _change_metadata(recorder, func, name, args)
    if name in ("native_batch_norm", "_native_batch_norm_legit", "batch_norm", "cudnn_batch_norm"):
        done = _batch_norm(recorder, func, args, kwargs)
        if done is not None:
            return done
    if name in ("index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"):
        args = (args[0], _integer_indices(recorder, args[0], args[1]), *args[2:])
    if name == "squeeze" and any(isinstance(n, torch.SymInt) for n in args[0].shape):
        return _squeeze(recorder, *args)
    if func is aten.equal.default:
        return _equal(recorder, *args)
    if name == "_linalg_check_errors":
        return checks.check_linalg(recorder, *args)
    if func._schema.is_mutable:
        return _mutate(recorder, func, name, args, kwargs)
    return _functional(recorder, func, name, args, kwargs)


def _local_scalar(recorder: Recorder, tensor: torch.Tensor) -> Any:
    number = recorder.read(tensor)
    if tensor.dtype == torch.bool:
        return number if isinstance(number, bool) else recorder.decide(number)
    return symbol(number)


def _change_metadata(recorder: Recorder, func: Any, name: str, args: tuple[Any, ...]) -> torch.Tensor:
    """PyTorch's own code changes the shape of a tensor it has just made; the program itself may not (``Calls``)."""
    if name in ("set_", "resize_", "resize_as_", "as_strided_"):
        raise Unsupported("TC141", f"Tensor.{name} changes the memory of a tensor", "make a new tensor")
    target = args[0]
    packet = getattr(aten, name.rstrip("_"))
    overload = func._overloadname if func._overloadname in packet.overloads() else "int"
    viewed = recorder.apply(getattr(packet, overload), *args)
    with recorder.paused():
        func(*args)
    target.__dict__["_toolchain_view"] = recorder.view_of(viewed)
    return target  # type: ignore[no-any-return]


def _literal(recorder: Recorder, func: Any, args: tuple[Any, ...]) -> torch.Tensor:
    tensor = args[0]
    if isinstance(tensor, torch_adapter.FakeTensor):
        return _functional(recorder, aten.clone.default, "clone", args, {})  # type: ignore[no-any-return]
    out = func(*args)
    recorder.adopt_root(out, recorder.constants.literal(tensor))
    return out  # type: ignore[no-any-return]


def _squeeze(recorder: Recorder, tensor: torch.Tensor, dims: Any = None) -> torch.Tensor:
    """By selections, where this path says that an extent is 1: compilers would decide about an unknown extent anew."""
    rank = tensor.dim()
    listed = range(rank) if dims is None else [dims] if isinstance(dims, int) else dims
    out = tensor
    for dim in sorted({d % rank for d in listed}, reverse=True):
        if out.shape[dim] == 1:
            out = recorder.apply(aten.select.int, out, dim, 0)
    return recorder.apply(aten.alias.default, tensor) if out is tensor else out


def _equal(recorder: Recorder, a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dim() != b.dim() or any(x != y for x, y in zip(a.shape, b.shape, strict=True)):
        return False
    same = recorder.apply(aten.all.default, recorder.apply(aten.eq.Tensor, a, b))
    return bool(recorder.read(same))


def _integer_indices(recorder: Recorder, source: torch.Tensor, indices: Any) -> list[torch.Tensor | None]:
    """Boolean masks in an index become the coordinates of their true elements."""
    out: list[torch.Tensor | None] = []
    for index in indices:
        if isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8):
            for dim in range(index.dim()):
                if index.shape[dim] != source.shape[len(out) + dim]:
                    text = (
                        f"The shape of the mask at index {dim} does not match "
                        f"the shape of the indexed tensor at index {len(out) + dim}"
                    )
                    raise IndexError(text)
            places = recorder.apply(aten.nonzero.default, index)
            for dim in range(index.dim()):
                column = recorder.apply(aten.select.int, places, 1, dim)
                recorder.ranges.bound(recorder.value_of(column), torch_adapter.expression(index.shape[dim]))
                out.append(column)
        else:
            out.append(index)
    return out


# ---- operations without side effects


def _functional(recorder: Recorder, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    args = shapes.before(recorder, func, name, args)
    checks.before(recorder, name, args, kwargs)
    if name == "nonzero":
        torch_adapter.forget_memos(args[0])
    encoded, encoded_kwargs = recorder.encode(args), {k: recorder.encode(v) for k, v in kwargs.items()}
    fake_args, fake_kwargs = torch_adapter.to_fake(recorder.fake_mode, (args, kwargs))
    out = torch_adapter.fake_results(name, fake_args) or func(*fake_args, **fake_kwargs)
    torch_adapter.forget_fresh_symbols(recorder.fake_mode)
    if name in _RESHAPES and isinstance(args[1], (tuple, list)) and isinstance(out, torch.Tensor):
        encoded = (encoded[0], recorder.encode(_with_rest(args[1], out.shape)), *encoded[2:])
    if not isinstance(out, (torch.Tensor, tuple, list)):
        if name in _STRUCTURAL_CHECKS or out is None:
            return out
        return out
    outputs = [out] if isinstance(out, torch.Tensor) else list(out)
    if args and any(o is fake_args[0] for o in outputs):
        return args[0]
    results = recorder.emit(func, encoded, encoded_kwargs, args, outputs)
    base = recorder.view_of(args[0]) if _is_view(func) and isinstance(args[0], torch.Tensor) else None
    pairs = tuple(sorted(encoded_kwargs.items()))
    for index, (tensor, value) in enumerate(zip(outputs, results, strict=True)):
        assert tensor is not None
        if base is None:
            recorder.adopt_root(tensor, value)
        else:
            shape = tuple(tensor.shape)
            view = View(base.storage, shape, base, _target(func), encoded[1:], pairs, index, len(outputs))
            recorder.adopt(tensor, view, value)
    return out


def _with_rest(sizes: Any, shape: Any) -> tuple[Any, ...]:
    """``sizes`` without the -1 beside unknown ones: a compiler would ask whether those may be 0."""
    if not any(isinstance(n, torch.SymInt) for n in sizes):
        return tuple(sizes)
    return tuple(s if isinstance(n, int) and n == -1 else n for n, s in zip(sizes, shape, strict=True))


def _is_view(func: Any) -> bool:
    returns = func._schema.returns
    return bool(returns) and returns[0].alias_info is not None and not returns[0].alias_info.is_write


def _target(func: Any) -> str:
    return f"{func._schema.name.replace('::', '.')}.{func._overloadname}"


def operator(target: str) -> Any:
    namespace, name, overload = target.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload)


def derive(recorder: Recorder, view: View) -> Operand:
    """The value of a view of a storage that changed since: the view operation again, on the new contents."""
    assert view.base is not None
    base = recorder.value_of_view(view.base)
    like: list[torch.Tensor | None] = [_like(recorder, view) for _ in range(view.count)]
    results = recorder.emit(operator(view.target), (base, *view.args), dict(view.kwargs), (like[0],), like)
    return results[view.index]


def _like(recorder: Recorder, view: View) -> torch.Tensor:
    dtype = _storage_dtype(recorder, view)
    with recorder.paused(), recorder.fake_mode:
        return torch.empty(view.shape, dtype=dtype)


def _storage_dtype(recorder: Recorder, view: View) -> torch.dtype:
    root = view.root()
    if root.storage.real is not None:
        return root.storage.real.dtype
    operand = recorder.state.values[root][1]
    return getattr(torch, operand.type.dtype)  # type: ignore[union-attr, no-any-return]


# ---- operations with side effects


def _mutate(recorder: Recorder, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    arguments = func._schema.arguments
    written = [a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write]
    names = [a.name for a in arguments if not a.kwarg_only]
    at = names.index(written[0]) if written[0] in names else -1
    target = kwargs[written[0]] if at < 0 or at >= len(args) else args[at]
    if len(written) != 1 or isinstance(target, (list, tuple)):
        raise Unsupported("TC142", f"aten.{name} changes several tensors in place", "change one after the other")
    rest = {k: v for k, v in kwargs.items() if k != written[0]}
    guard_write(recorder, target)
    check_overlap(recorder, func, target, args, kwargs)
    if name == "copy_":
        result = recorder.apply(aten.copy.default, target, *args[1:2])
    elif name == "zero_":
        result = recorder.apply(aten.full_like.default, target, 0)
    else:
        result = recorder.apply(_functional_form(func, name, written[0]), *args, **rest)
    fake_args, fake_kwargs = torch_adapter.to_fake(recorder.fake_mode, (args, kwargs))
    with recorder.paused():
        returned = func(*fake_args, **fake_kwargs)  # errors and shapes as in eager
    if isinstance(result, (tuple, list)):
        raise Unsupported("TC142", f"aten.{name} changes a tensor in place and returns others")
    if result.dtype != target.dtype:
        result = recorder.apply(aten._to_copy.default, result, dtype=target.dtype)
    write(recorder, target, recorder.value_of(result))
    return target if returned is not None else None


def _functional_form(func: Any, name: str, written: str) -> Any:
    packet = getattr(aten, name.removesuffix("_") if name != "_index_put_impl_" else "index_put", None)
    overload = func._overloadname
    if written == "out" or overload.endswith("out"):
        overload = overload.removesuffix("out").removesuffix("_") or "default"
        if packet is not None and overload == "default" and "default" not in packet.overloads():
            overload = "Tensor"
    if packet is not None and not _takes_the_same(packet, overload, func):
        overload = next((o for o in packet.overloads() if _takes_the_same(packet, o, func)), overload)
    if packet is None or overload not in packet.overloads():
        raise Unsupported("TC142", f"the in-place operation aten.{name}.{func._overloadname} has no functional form")
    return getattr(packet, overload)


def _takes_the_same(packet: Any, overload: str, func: Any) -> bool:
    """Whether a functional overload has the arguments of ``func``: ``pow_.Scalar`` goes with ``pow.Tensor_Scalar``."""
    if overload not in packet.overloads() or getattr(packet, overload)._schema.is_mutable:
        return False
    mine, other = (
        [str(a.type) for a in f._schema.arguments if not a.is_out] for f in (func, getattr(packet, overload))
    )
    return mine == other


def guard_write(recorder: Recorder, tensor: torch.Tensor) -> None:
    storage = recorder.view_of(tensor).storage
    conflict = recorder.state.conflicts.get(storage)
    if conflict is not None and not conflict:
        raise Unsupported(
            "TC146", "an in-place change of a tensor that is also in a list of unknown length", "append a clone"
        )
    if conflict is not None:
        recorder.stop(KeepIdentity(conflict))
    if storage.real is not None and recorder.constants.aliases(storage):
        raise Unsupported(
            "TC143", "an in-place change of a tensor that shares memory with another one that existed before the call"
        )


def write(recorder: Recorder, tensor: torch.Tensor, new: Operand) -> None:
    """The elements that ``tensor`` looks at become ``new``; everything that shares them sees it."""
    view = recorder.view_of(tensor)
    state = recorder.state
    contents = new
    for step in reversed(view.chain()):
        assert step.base is not None
        contents = _into_base(recorder, step, recorder.value_of_view(step.base), contents)
    version = state.version(view.storage) + 1
    state.versions[view.storage] = version
    state.values[view.root()] = (version, contents)
    state.values[view] = (version, new)


def _into_base(recorder: Recorder, step: View, base: Operand, part: Operand) -> Operand:
    """The base of a view with the part that the view shows replaced."""
    name = step.target.split(".")[1]
    args = step.args
    if name == "select":
        return _emit(recorder, step, aten.select_scatter.default, base, part, *args)
    if name == "slice":
        return _emit(recorder, step, aten.slice_scatter.default, base, part, *args)
    if name == "diagonal":
        return _emit(recorder, step, aten.diagonal_scatter.default, base, part, *args)
    if name == "unbind":
        return _emit(recorder, step, aten.select_scatter.default, base, part, args[0] if args else 0, step.index)
    if name in ("split", "split_with_sizes"):
        return _into_split(recorder, step, base, part)
    if name in ("detach", "alias"):
        return part
    if name in ("transpose", "t"):
        dims = args if name == "transpose" else (0, 1)
        return part if name == "t" and len(step.shape) < 2 else _emit(recorder, step, aten.transpose.int, part, *dims)
    if name == "permute":
        rank = len(args[0])
        order = sorted(range(rank), key=lambda i: args[0][i] % rank)
        return _emit(recorder, step, aten.permute.default, part, tuple(order))
    if name in ("view", "unsqueeze", "squeeze", "_unsafe_view", "_reshape_alias") and not step.target.endswith(
        ".dtype"
    ):
        assert step.base is not None
        return _emit(recorder, step, aten.reshape.default, part, recorder.encode(step.base.shape))
    raise Unsupported(
        "TC144", f"an in-place change through a view made by {name}()", "write to the base tensor, or clone first"
    )


def _into_split(recorder: Recorder, step: View, base: Operand, part: Operand) -> Operand:
    sizes, dim = step.args[0], step.args[1] if len(step.args) > 1 else 0
    if isinstance(sizes, tuple):
        start = sum(sizes[: step.index])
        stop = start + sizes[step.index]
    else:
        start = sizes * step.index
        stop = start + sizes
    return _emit(recorder, step, aten.slice_scatter.default, base, part, dim, start, stop)


def _emit(recorder: Recorder, step: View, func: Any, *args: Argument) -> Operand:
    assert step.base is not None
    like = _like(recorder, step.base)
    return recorder.emit(func, args, {}, (like,), [like])[0]


def _batch_norm(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Batch statistics in training mode: PyTorch updates the running ones without saying so in the schema."""
    if kwargs or len(args) != 8 or not args[5] or args[3] is None:
        return None
    mean, var = args[3], args[4]
    guard_write(recorder, mean)
    guard_write(recorder, var)
    out = recorder.apply(aten._native_batch_norm_legit_functional.default, *args)
    write(recorder, mean, recorder.value_of(out[3]))
    write(recorder, var, recorder.value_of(out[4]))
    return tuple(out[:3])


def fresh_root(
    recorder: Recorder, shape: tuple[Any, ...], dtype: torch.dtype, operand: Operand, strides: Any = None
) -> torch.Tensor:
    """A new tensor with contents ``operand``."""
    with recorder.paused(), recorder.fake_mode:
        tensor = (
            torch.empty(shape, dtype=dtype) if strides is None else torch.empty_strided(shape, strides, dtype=dtype)
        )
    recorder.adopt(tensor, View(Storage(), tuple(tensor.shape)), operand)
    return tensor
