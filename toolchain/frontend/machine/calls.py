"""Calls: which functions are interpreted, which run natively, and which mean something else for staged values."""

from __future__ import annotations

import array
import copy
import functools
import io
import itertools
import sysconfig
from pathlib import Path
from types import BuiltinMethodType, FunctionType, MethodType, MethodWrapperType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend.context import Staged
from toolchain.frontend.functional import METADATA_OPERATIONS
from toolchain.frontend.machine import (
    border,
    builtin_calls,
    context_variables,
    polyfills,
    recurrent_polyfills,
    torch_calls,
)
from toolchain.frontend.machine.arrays import Arrays, is_numpy
from toolchain.frontend.machine.code import code_info
from toolchain.frontend.machine.frame import NULL, PUSH, Frame, ReturnMode, VMGenerator
from toolchain.frontend.machine.host_calls import HostCaller
from toolchain.frontend.machine.lists import HostLists, ListMethod
from toolchain.frontend.machine.objects import Objects
from toolchain.frontend.machine.tensors import TensorFactory
from toolchain.frontend.signals import Unsupported
from toolchain.frontend.staged import HostList, StagedStr

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine

PUSHED = object()
"""The call pushed a frame; its result is delivered when that returns."""

_TORCH = str(Path(torch.__file__).parent)
_STDLIB = sysconfig.get_paths()["stdlib"]
_HERE = str(Path(__file__).parent)
_INTERPRETED_FILES = (
    f"{_TORCH}/nn/modules/container.py",
    f"{_TORCH}/utils/_contextlib.py",
    f"{_STDLIB}/contextlib.py",
    f"{_STDLIB}/dataclasses.py",
    f"{_HERE}/polyfills.py",
    f"{_HERE}/iteration_polyfills.py",
    f"{_HERE}/recurrent_polyfills.py",
)
_NATIVE_ROOTS = (
    _TORCH,
    f"{_STDLIB}/",
    str(Path(torch.__file__).parent.parent / "numpy"),
    str(Path(_HERE).parent),
    "<frozen",
)
_CO_GENERATOR, _CO_COROUTINE, _CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200


@functools.cache
def _interpreted_file(filename: str) -> bool:
    if filename in _INTERPRETED_FILES:
        return True
    site = f"{_STDLIB}/site-packages/"
    if filename.startswith(site) and not filename.startswith(_TORCH) and "/numpy/" not in filename:
        return True
    return not filename.startswith(_NATIVE_ROOTS)


def is_interpretable(function: Any) -> bool:
    """Whether the machine runs the bytecode of ``function`` itself."""
    if not isinstance(function, FunctionType):
        return False
    code = function.__code__
    if function is torch.nn.Module._call_impl:
        return True
    return _interpreted_file(code.co_filename) and not code.co_flags & (_CO_COROUTINE | _CO_ASYNC_GENERATOR)


class GeneratorMethod:
    """A bound method of an interpreted generator."""

    __slots__ = ("generator", "name")

    def __init__(self, generator: VMGenerator, name: str) -> None:
        self.generator = generator
        self.name = name


class Calls:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.polyfills: Any = polyfills
        self.lists = HostLists(machine)
        self.tensors = TensorFactory(machine)
        self.arrays = Arrays(machine)
        self.objects = Objects(machine)
        self.host_calls = HostCaller(machine)
        self._handlers: dict[Any, Any] = builtin_calls.handlers() | torch_calls.handlers()

    # ---- dispatch

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], mode: ReturnMode = PUSH) -> Any:
        """Calls; returns the result, or PUSHED."""
        while True:
            made = self.host_calls.known.find(function)
            if made is not None:
                return self.host_calls.call(made, args, kwargs)
            handler = self._handler(function)
            if handler is not None:
                return handler(self._machine, args, kwargs, mode)
            if isinstance(function, MethodType):
                function, args = function.__func__, (function.__self__, *args)
            elif isinstance(function, functools.partial):
                function, args, kwargs = function.func, (*function.args, *args), {**function.keywords, **kwargs}
            elif is_interpretable(function):
                return self.enter(function, args, kwargs, mode)
            elif isinstance(function, functools._lru_cache_wrapper):
                return self._cached(function, args, kwargs, mode)
            elif isinstance(function, ListMethod):
                return self.lists.call(function, args, kwargs, mode)
            elif isinstance(function, GeneratorMethod):
                return self._call_generator_method(function, args, mode)
            elif isinstance(function, torch.nn.Module):
                function, args = self._module_call(function, args)
            elif function is torch.nn.Module.__call__ and args:
                function, args = self._plain_module_call(args[0], args[1:])
            elif isinstance(function, type):
                return self._construct(function, args, kwargs, mode)
            elif isinstance(function, BuiltinMethodType) or not callable(function):
                return self._outside(function, args, kwargs, mode)
            else:
                inner = type(function).__call__
                if not is_interpretable(inner):
                    return self._outside(function, args, kwargs, mode)
                function, args = inner, (function, *args)

    def _handler(self, function: Any) -> Any:
        try:
            handler = self._handlers.get(function)
        except (TypeError, Unsupported):  # unhashable
            return None
        if handler is None and isinstance(function, BuiltinMethodType):
            owner = function.__self__
            if isinstance(owner, torch.Tensor):
                method = torch_calls.TENSOR_METHODS.get(function.__name__)
                return None if method is None else functools.partial(method, owner)
            if isinstance(owner, (list, tuple, dict, str)) and not isinstance(owner, torch.Size):
                method = builtin_calls.CONTAINER_METHODS.get((_container(owner), function.__name__))
                return None if method is None else functools.partial(method, owner)
            return context_variables.handler(function)
        if handler is None and isinstance(function, MethodType) and isinstance(function.__self__, torch.Tensor):
            method = torch_calls.TENSOR_METHODS.get(function.__name__)
            return None if method is None else functools.partial(method, function.__self__)
        return handler

    def enter(self, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any], mode: ReturnMode) -> Any:
        """Pushes a frame for an interpretable function."""
        info = code_info(function.__code__)
        values = bind(function, args, kwargs)
        values += [NULL] * (info.locals_count - len(values))
        self._machine.push_frame(Frame(info, function, values, mode))
        return PUSHED

    def _cached(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], mode: ReturnMode) -> Any:
        """``functools.lru_cache``: the cache is emptied for the model's calls; a pure function cannot tell."""
        return self.call(function.__wrapped__, args, kwargs, mode)

    def _module_call(self, module: torch.nn.Module, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        replacement = recurrent_polyfills.replacement(module, args)
        if replacement is not None:
            return replacement, (module, *args)
        if type(module).__call__ is not torch.nn.Module.__call__:
            return type(module).__call__, (module, *args)
        return self._plain_module_call(module, args)

    def _plain_module_call(self, module: torch.nn.Module, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """What ``torch.nn.Module.__call__`` does."""
        if _has_hooks(module):
            return torch.nn.Module._call_impl, (module, *args)
        return module.forward, args

    def _construct(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any], mode: ReturnMode) -> Any:
        initialise: Any = getattr(cls, "__init__")  # noqa: B009 - the class's own, not the one of an instance
        make: Any = getattr(cls, "__new__")  # noqa: B009
        instance: Any
        if type(cls).__call__ is type.__call__ and make is object.__new__ and is_interpretable(initialise):
            instance = object.__new__(cls)
            return self.call(initialise, (instance, *args), kwargs, _object_mode(mode, instance))
        if is_interpretable(make) and not issubclass(cls, BaseException):
            return self.call(polyfills.construct, (cls, args, kwargs), {}, mode)
        if issubclass(cls, (BaseException, dict, list, set)) and is_interpretable(initialise):
            instance = make(cls, *args, **kwargs)
            return self.call(initialise, (instance, *args), kwargs, _object_mode(mode, instance))
        return self._outside(cls, args, kwargs, mode)

    def special_method(self, owner: Any, name: str) -> Any:
        """The interpretable implementation of a special method in a user's class, or None."""
        kind = type(owner)
        if kind.__module__ == "builtins" or isinstance(owner, (torch.Tensor, HostList, Staged)):
            return None
        method = getattr(kind, name, None)
        if isinstance(owner, torch.nn.Module) and getattr(method, "__module__", "").startswith("torch."):
            return None
        return method if is_interpretable(method) else None

    # ---- native code

    def _outside(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], mode: ReturnMode) -> Any:
        """Native code, after the generators that it would iterate over have been run."""
        position = next((n for n, a in enumerate(args) if isinstance(a, VMGenerator)), None)
        if position is not None and not _moves_references(function) and not is_torch(function):
            return self.call(polyfills.with_list, (function, position, args, kwargs), {}, mode)
        if isinstance(function, type) and (
            issubclass(function, (tuple, BaseException)) or function.__module__ in ("types", "collections")
        ):
            return function(*args, **kwargs)
        return self.native(function, args, kwargs)

    def native(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs ``function`` as it is. Decisions inside it are found by running the block again."""
        machine = self._machine
        frame = machine.frames[-1]
        depth = machine.recorder.state.depth
        builtin_calls.refuse_if_not_deterministic(function)
        _refuse_hidden_state(function)
        if is_numpy(function) and any(
            border.has_staged(a) or builtin_calls.has_tensors(a) for a in (*args, *kwargs.values())
        ):
            return self.arrays.call(function, args, kwargs)
        if self._is_for_host(function, args, kwargs):
            return self.objects.call(function, args, kwargs)
        if not machine.recorder.is_symbolic:
            moves = not is_torch(function) and _moves_references(function)
            return function(*args, **kwargs) if moves else function(*border.unbox(args), **border.unbox(kwargs))
        if is_torch(function):
            if getattr(function, "__name__", "") in METADATA_OPERATIONS:
                name = function.__name__
                raise Unsupported(
                    "TC141",
                    f"Tensor.{name} changes the shape of a tensor in place",
                    f"use {name.rstrip('_')}() instead",
                )
            if any(map(is_interpretable, args)) and border.has_staged(args, depth=9):
                raise Unsupported(
                    "TC160",
                    f"{name_of(function)} hands values that are only known at run time to a function",
                    "use a loop",
                )
            lists = [a for a in args if isinstance(a, HostList)]
            if lists:
                machine.recorder.need_constant(lists[0].origins, f"{name_of(function)} of a list of unknown length")
            result = function(*border.unbox(args), **border.unbox(kwargs))
            result = border.box(machine.recorder, result)
        else:
            staged = [a for a in (*args, *kwargs.values()) if border.has_staged(a)]
            if staged and not _moves_references(function):
                _refuse_native(machine, function, staged)
            if (
                not _moves_references(function)
                and any(isinstance(a, torch.Tensor) for a in args)
                and _is_foreign(function)
            ):
                _refuse_native(machine, function, args)
            result = border.box(machine.recorder, function(*args, **kwargs))
        if machine.recorder.state.depth != depth:
            frame.open |= {frame.pc}
        return result

    def _is_for_host(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        staged = any(border.has_staged(v) for v in (function, *args, *kwargs.values()))
        return staged and self.objects.takes(function)

    # ---- generators

    def generator_method(self, generator: VMGenerator, name: str) -> GeneratorMethod:
        if name not in ("send", "close", "throw", "__next__"):
            raise AttributeError(f"'generator' object has no attribute '{name}'")
        return GeneratorMethod(generator, name)

    def _call_generator_method(self, method: GeneratorMethod, args: tuple[Any, ...], mode: ReturnMode) -> Any:
        generator = method.generator
        if method.name in ("send", "__next__"):
            value = args[0] if method.name == "send" else None
            self._machine.resume(generator, value, ("next", False, None))
            return PUSHED
        if method.name == "throw":
            self._machine.throw(generator, _thrown(*args), ("next", False, None))
            return PUSHED
        return self._close(generator)

    def _close(self, generator: VMGenerator) -> None:
        if generator.running:
            raise ValueError("generator already executing")
        frame = generator.frame
        if frame is not None and frame.info.handler_at(frame.current) is not None:
            raise Unsupported("TC154", "closing a generator that is inside a try or with statement")
        generator.frame = None


def _thrown(kind: Any, value: Any = None, traceback: Any = None) -> BaseException:
    """The exception that ``generator.throw(kind, value, traceback)`` raises."""
    if isinstance(kind, BaseException) or isinstance(value, BaseException):
        return kind if isinstance(kind, BaseException) else value
    return kind() if value is None else kind(value)  # type: ignore[no-any-return]


def bind(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Parameters to local variables, as CPython does it."""
    code = function.__code__
    names = code.co_varnames
    count, kwonly = code.co_argcount, code.co_kwonlyargcount
    has_varargs, has_varkw = bool(code.co_flags & 4), bool(code.co_flags & 8)
    values: list[Any] = [NULL] * (count + kwonly)
    name = function.__qualname__
    if len(args) > count and not has_varargs:
        raise TypeError(
            f"{name}() takes {count} positional argument{'s' if count != 1 else ''} but {len(args)} were given"
        )
    values[: min(len(args), count)] = args[:count]
    extra: dict[str, Any] = {}
    for key, value in kwargs.items():
        position = names.index(key) if key in names[code.co_posonlyargcount : count + kwonly] else -1
        if position < 0:
            if not has_varkw:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
            extra[key] = value
        elif values[position] is not NULL:
            raise TypeError(f"{name}() got multiple values for argument '{key}'")
        else:
            values[position] = value
    _fill_defaults(function, values, count)
    if has_varargs:
        values.append(tuple(args[count:]))
    if has_varkw:
        values.append(extra)
    return values


def _fill_defaults(function: FunctionType, values: list[Any], count: int) -> None:
    names = function.__code__.co_varnames
    defaults = function.__defaults__ or ()
    for position in range(count - len(defaults), count):
        if values[position] is NULL:
            values[position] = defaults[position - count + len(defaults)]
    for position in range(count, len(values)):
        if values[position] is NULL and names[position] in (function.__kwdefaults__ or {}):
            values[position] = (function.__kwdefaults__ or {})[names[position]]
    missing = [names[p] for p, v in enumerate(values) if v is NULL]
    if missing:
        kind = "positional" if values.index(NULL) < count else "keyword-only"
        listed = " and ".join(f"'{n}'" for n in missing)
        raise TypeError(
            f"{function.__qualname__}() missing {len(missing)} required {kind} "
            f"argument{'s' if len(missing) > 1 else ''}: {listed}"
        )


def _object_mode(mode: ReturnMode, instance: Any) -> ReturnMode:
    if mode[0] == "push":
        return ("object", instance)
    raise Unsupported("TC155", f"constructing a {type(instance).__name__} in this place")


def _has_hooks(module: torch.nn.Module) -> bool:
    from torch.nn.modules import module as nn_module

    own = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks)
    everywhere = (nn_module._global_forward_hooks, nn_module._global_forward_pre_hooks)
    return any(own) or any(everywhere)


def name_of(function: Any) -> str:
    return getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or repr(function)


def is_torch(function: Any) -> bool:
    """Whether ``function`` belongs to PyTorch and takes raw symbolic numbers."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, (torch.Tensor, torch.nn.Module)) or (
        isinstance(owner, type) and issubclass(owner, torch.Tensor)
    ):
        return True
    if isinstance(owner, ModuleType):
        return owner.__name__.split(".")[0] == "torch"
    if isinstance(owner, torch.Generator):
        return True
    module = getattr(function, "__module__", None) or type(function).__module__ or ""
    objclass = getattr(function, "__objclass__", None)
    if isinstance(objclass, type) and objclass.__module__.split(".")[0] == "torch":
        return True
    return module.split(".")[0] in ("torch", "_torch") or type(function).__module__.startswith("torch")


def _is_foreign(function: Any) -> bool:
    """Native code of a third party that could read the elements of a tensor."""
    module = getattr(function, "__module__", None) or type(function).__module__ or ""
    return module.split(".")[0] not in (
        "builtins",
        "operator",
        "_operator",
        "collections",
        "itertools",
        "functools",
        "copy",
        "typing",
    )


_MOVERS = frozenset(
    [
        "append", "extend", "insert", "pop", "popleft", "appendleft", "clear", "copy", "reverse", "get", "setdefault",
        "update", "items", "values", "keys", "__setitem__", "add", "discard", "__init__", "__new__",
        "setattr", "__iter__", "popitem", "rotate",
    ]
)  # fmt: skip


def _moves_references(function: Any) -> bool:
    """Native functions that store and hand out their arguments without looking at them."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    is_container = isinstance(owner, (list, dict, set, tuple)) or type(owner).__module__ == "collections"
    if (is_container and name in _MOVERS) or (name == "__setattr__" and isinstance(function, MethodWrapperType)):
        return True
    if name == "__init__" and (
        isinstance(owner, BaseException) or getattr(function, "__objclass__", None) is BaseException
    ):
        return True
    return function in (setattr, getattr, copy.copy, tuple.__new__, object.__setattr__, itertools.chain) or (
        isinstance(function, type) and issubclass(function, (BaseException, tuple))
    )


def _refuse_hidden_state(function: Any) -> None:
    """Objects of native code whose contents change and cannot be put back for another path."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, (io.IOBase, array.array, memoryview, bytearray)):
        raise Unsupported("TC160", f"a {type(owner).__name__} that the program changes", "use a list or a string")


def _refuse_native(machine: Machine, function: Any, values: Any) -> None:
    if isinstance(function, FunctionType) and function.__code__.co_flags & (_CO_COROUTINE | _CO_ASYNC_GENERATOR):
        raise Unsupported("TC151", f"the async function {function.__qualname__}", "write it without async and await")
    lists = [v for v in values if isinstance(v, HostList) and v.origins]
    if lists:
        machine.recorder.need_constant(lists[0].origins, f"{name_of(function)} of a list of unknown length")
    for text in (v for v in values if isinstance(v, StagedStr) and v.origins):
        text.constant(name_of(function))
    module = getattr(function, "__module__", None) or type(function).__module__ or ""
    what = f"{module}.{name_of(function)}" if module and module != "builtins" else name_of(function)
    raise Unsupported(
        "TC160",
        f"{what} is native code that is called with values that are only known at run time",
        "use PyTorch operations, or register the function with toolchain.host_call",
    )


def _container(owner: Any) -> str:
    return (
        "list"
        if isinstance(owner, list)
        else "dict"
        if isinstance(owner, dict)
        else "str"
        if isinstance(owner, str)
        else "tuple"
    )
