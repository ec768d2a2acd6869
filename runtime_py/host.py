"""The generated Python host program, and what it sees of the runtime.

``host/python/program.py`` defines ``FUNCTIONS: {(entry index, state index): function}``; a function is called as
``function(rt, *state values, *inputs)`` with a ``HostRuntime``. Tensors are IREE buffer views, scalars Python's own.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol, TypeAlias

from runtime_py.arrays import Framework, convert
from runtime_py.device import Device
from runtime_py.errors import BundleError
from runtime_py.host_calls import HostCallee
from runtime_py.integrity import OpenBundle
from runtime_py.invoke import Archive, Callee
from runtime_py.objects import Kind, make_object

PROGRAM = "host/python/program.py"

HostFunction: TypeAlias = Callable[..., Any]


class Decider(Protocol):
    """Sees a decision and may change it."""

    def decide(self, function: str, block: int, condition: bool) -> bool: ...


def load_program(bundle: OpenBundle) -> dict[tuple[int, int], HostFunction]:
    """Runs the host program. Raises ``BundleError`` RT106 if there is none or it fails."""
    if not any(host.name == "python" for host in bundle.manifest.hosts):
        raise BundleError("RT106", "the bundle has no Python host program", "build it with --host python")
    path = bundle.path(PROGRAM)
    # Not imported: two bundles may be loaded at once, and a bundle's folder may be read-only.
    module = ModuleType(f"host_program_{bundle.manifest.digest[:12]}")
    module.__file__ = str(path)
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
        functions: dict[tuple[int, int], HostFunction] = module.__dict__["FUNCTIONS"]
    except Exception as error:
        raise BundleError("RT106", f"{PROGRAM} fails: {type(error).__name__}: {error}", "build it again") from error
    return functions


class Constants(dict[str, Any]):
    """Weights as buffer views, made when first asked for."""

    def __init__(self, archive: Archive, device: Device) -> None:
        super().__init__()
        self._archive = archive
        self._device = device

    def __missing__(self, name: str) -> Any:
        view = self[name] = self._archive.view(name, self._device)
        return view


class Commit:
    """What a call leaves behind: the next state, its values, and (input leaf, new value) for changed arguments."""

    __slots__ = ("mutated", "state", "values")

    def __init__(self, state: int, values: tuple[Any, ...], mutated: tuple[tuple[int, Any], ...]) -> None:
        self.state = state
        self.values = values
        self.mutated = mutated


class HostRuntime:
    """The argument ``rt`` of host functions.

    calls:      the instances, as callables ``call(*operands) -> view or tuple of views``.
    host_calls: the user's functions, as callables ``call(*operands) -> value or tuple of values``.
    constants:  weights by name.
    decide:     ``decide(block id, condition) -> bool``: asked at every branch.
    """

    def __init__(
        self, calls: tuple[Callee, ...], host_calls: tuple[HostCallee, ...], constants: Constants, device: Device
    ) -> None:
        self.calls = calls
        self.host_calls = host_calls
        self.constants = constants
        self.decide: Callable[[int, bool], bool] = as_is
        self._device = device
        self._framework: Framework = "numpy"
        self._committed: Commit | None = None

    def commit(self, state: int, values: tuple[Any, ...], mutated: tuple[tuple[int, Any], ...]) -> None:
        """Sets what the call leaves behind; called last before returning or raising."""
        self._committed = Commit(state, values, mutated)

    def make(self, kind: Kind, module: str, qualname: str, fields: dict[str, Any]) -> Any:
        """An instance of a user's class for the result; tensors in ``fields`` become the caller's kind."""
        return make_object(kind, module, qualname, {k: self.convert(v) for k, v in fields.items()})

    def convert(self, value: Any) -> Any:
        """``value`` with the caller's tensors in place of buffer views."""
        return convert(value, self._device, self._framework)

    def begin(self, function: str, framework: Framework, deciders: list[Decider]) -> None:
        """Prepares for one call."""
        self._framework = framework
        self._committed = None
        self.decide = watched(function, deciders) if deciders else as_is

    def take_commit(self) -> Commit | None:
        """What the call left behind, once."""
        committed, self._committed = self._committed, None
        return committed


def as_is(block: int, condition: bool) -> bool:
    return condition


def watched(function: str, deciders: list[Decider]) -> Callable[[int, bool], bool]:
    def decide(block: int, condition: bool) -> bool:
        for decider in deciders:
            condition = decider.decide(function, block, condition)
        return condition

    return decide
