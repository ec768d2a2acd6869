"""Sessions: a loaded bundle that can be called like the module that it was built from."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from runtime_py.arrays import framework_of, preferred_framework, to_view, write_back
from runtime_py.constants import from_constant
from runtime_py.decisions import Decision, Forcer, Tracer, size_branches
from runtime_py.device import Device, open_device, use_device
from runtime_py.errors import BundleError, DeviceError
from runtime_py.format import Manifest
from runtime_py.host import Commit, Constants, Decider, HostFunction, HostRuntime, load_program
from runtime_py.host_calls import HostCallee, find_all
from runtime_py.integrity import OpenBundle, open_bundle
from runtime_py.invoke import Archive, Modules
from runtime_py.signature import Match, select_entry
from runtime_py.targets import choose_target, device_kind


def load(
    path: str | os.PathLike[str],
    target: str | None = None,
    verify_hashes: bool = True,
    host_calls: Mapping[str, Callable[..., Any]] | None = None,
) -> Session:
    """Loads a bundle.

    target:        a target of the bundle, or a kind: of "cpu" the best level that runs here. None: the first kind.
    verify_hashes: reads every file once more to see that it is unchanged; sizes are checked in any case.
    host_calls:    functions by the names in ``manifest.host_calls``; the others are imported by these names.

    Raises ``BundleError`` (RT1xx) for a damaged bundle and ``DeviceError`` (RT301 to RT303) if it cannot run here.
    """
    bundle = open_bundle(path, verify_hashes)
    chosen = choose_target(bundle.manifest, target)
    functions = find_all(bundle.manifest.host_calls, host_calls or {})
    return Session(_Loaded(bundle, chosen, open_device(device_kind(chosen)), functions))


class _Loaded:
    """What all clones of a session share; nothing here changes after loading (but for the cache of constants)."""

    def __init__(
        self, bundle: OpenBundle, target: str, device: Device, host_calls: Mapping[str, Callable[..., Any]]
    ) -> None:
        self.bundle = bundle
        self.target = target
        self.device = device
        archive = Archive(bundle)
        self.constants = Constants(archive, device)
        self.modules = Modules(bundle, target, device, archive)
        needed = bundle.manifest.host_calls
        self.host_calls = tuple(HostCallee(call, host_calls[call.function], device) for call in needed)
        self.functions = load_program(bundle)
        self.names = {(f.entry, f.state): f.name for f in bundle.manifest.functions}
        self.size_branches = size_branches(bundle.manifest)
        # A shared argument must not become state: the caller may change it afterwards.
        self.copies_inputs = any(state.slots for state in bundle.manifest.states)

    def initial_values(self) -> tuple[Any, ...]:
        initial = self.bundle.manifest.initial_state
        return tuple(self._initial(v.weight, v.literal) for v in initial)

    def _initial(self, weight: str | None, literal: Any) -> Any:
        if weight is not None:
            return self.constants[weight]
        return None if literal is None else from_constant(literal)


def _runtime_of(loaded: _Loaded) -> HostRuntime:
    return HostRuntime(loaded.modules.callees(), loaded.host_calls, loaded.constants, loaded.device)


class Session:
    """A callable program with its own state.

    Calls take and give PyTorch tensors or NumPy arrays, in the structure of the module's arguments and result. Results
    are detached, contiguous and own their memory. One lock makes calls from several threads take turns; ``clone`` gives
    each thread its own.
    """

    def __init__(self, loaded: _Loaded) -> None:
        self._loaded = loaded
        self._lock = threading.RLock()
        self._is_running = False
        self._pid = os.getpid()
        self._deciders: list[Decider] = []
        self._runtime: HostRuntime | None = _runtime_of(loaded)
        self._state = 0
        self._values = loaded.initial_values()

    @property
    def manifest(self) -> Manifest:
        """What the bundle says about itself."""
        return self._loaded.bundle.manifest

    @property
    def target(self) -> str:
        """The target that was chosen, e.g. ``"cpu:x86-64-v3"``."""
        return self._loaded.target

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Raises ``InputError`` (RT2xx) before anything runs if the arguments fit no entry, ``DeviceError`` (RT3xx) if the
        run fails, and what the program itself raises.
        """
        with self._lock:
            runtime = self._ready()
            match = select_entry(self.manifest.entries, args, kwargs)
            function = self._function(match.entry)
            name = self._loaded.names.get((match.entry, self._state), "")
            runtime.begin(name, preferred_framework(match.leaves), self._deciders)
            inputs = [self._input(leaf) for leaf in match.leaves]
            before = use_device(self._loaded.device)
            self._is_running = True
            try:
                result = runtime.convert(function(runtime, *self._values, *inputs))
            finally:
                self._is_running = False
                use_device(before)  # none as a rule: what a thread holds on to outlives everything else at exit
                self._apply(runtime.take_commit(), match)
            return result

    def reset(self) -> None:
        """Back to the state after loading."""
        with self._lock:
            self._ready()
            self._state, self._values = 0, self._loaded.initial_values()

    def clone(self) -> Session:
        """A session with the same device and weights but its own lock and state, which starts as after loading."""
        with self._lock:
            self._ready()
            return Session(self._loaded)

    def close(self) -> None:
        """Lets go of modules and state; the session cannot be used any more. Closing twice does no harm."""
        with self._lock:
            self._runtime = None
            self._values = ()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def state(self) -> Mapping[str, Any]:
        """Buffers and attributes that calls change, by name: a copy of their present values.

        Tensors are PyTorch's if the process has imported it, else NumPy's.
        """
        with self._lock:
            runtime = self._ready()
            state = self.manifest.states[self._state]
            runtime.begin("", preferred_framework([]), [])
            values = {slot.name: runtime.convert(v) for slot, v in zip(state.slots, self._values, strict=True)}
            return values | {a.name: from_constant(a.value) for a in state.attributes}

    @contextmanager
    def trace(self) -> Iterator[list[Decision]]:
        """While the block runs, calls append their decisions to the list that it gets."""
        tracer = Tracer()
        with self._decider(tracer):
            yield tracer.decisions

    @contextmanager
    def force(self, decisions: Sequence[bool], fuel: int = 10_000) -> Iterator[None]:
        """While the block runs, data decisions are answered from ``decisions`` in order, later ones by the program.

        Calls raise ``FuelError`` RT308 once they have made ``fuel`` decisions. Branches on sizes are never forced.
        """
        with self._decider(Forcer(decisions, fuel, self._loaded.size_branches)):
            yield

    @contextmanager
    def guide(self, decider: Decider) -> Iterator[None]:
        """While the block runs, ``decider`` sees every decision, those on sizes included, and may change it."""
        with self._decider(decider):
            yield

    @contextmanager
    def _decider(self, decider: Decider) -> Iterator[None]:
        # A tracer sees what a forcer has made of the decision, whichever came first.
        with self._lock:
            at = len(self._deciders) if isinstance(decider, Tracer) else 0
            self._deciders.insert(at, decider)
        try:
            yield
        finally:
            with self._lock:
                self._deciders.remove(decider)

    def _ready(self) -> HostRuntime:
        if os.getpid() != self._pid:
            hint = "load the bundle in the child process, or start it with the spawn method"
            raise DeviceError("RT305", "the session was made before this process was forked", hint)
        if self._runtime is None:
            raise DeviceError("RT306", "the session is closed", "load the bundle again")
        if self._is_running:  # the lock lets its own thread in
            hint = "call another session from the function: the bundle loaded once more, or a clone"
            raise DeviceError("RT310", "a function that the session calls uses the session", hint)
        return self._runtime

    def _function(self, entry: int) -> HostFunction:
        try:
            return self._loaded.functions[(entry, self._state)]
        except KeyError:
            text = f"the host program has no function for entry {entry} in state {self._state}"
            raise BundleError("RT106", text, "build it again") from None

    def _input(self, leaf: Any) -> Any:
        if framework_of(leaf) is None:
            return leaf
        return to_view(leaf, self._loaded.device, self._loaded.copies_inputs)

    def _apply(self, commit: Commit | None, match: Match) -> None:
        if commit is None:
            return
        names = self.manifest.entries[match.entry].inputs
        device = self._loaded.device
        stores = [write_back(match.leaves[i], v, device, f"argument '{names[i].name}'") for i, v in commit.mutated]
        for store in stores:
            store()
        self._state, self._values = commit.state, commit.values
