"""From a module and example calls to a ``Program``: the exploration of all entries in all states between calls."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from toolchain.diagnostics import Problem, UnsupportedModelError
from toolchain.frontend import torch_adapter
from toolchain.frontend.constants import ConstantPool
from toolchain.frontend.entries import Call, Dynamic, Entry, input_values, make_entries, rebuild, structure_of
from toolchain.frontend.explorer import STATE, BudgetExceeded, Explorer
from toolchain.frontend.functional import fresh_root
from toolchain.frontend.graph import build_functions, state_order, states_of
from toolchain.frontend.heap import Snapshot, World
from toolchain.frontend.host_calls import HostCalls
from toolchain.frontend.machine import polyfills
from toolchain.frontend.machine.frame import PUSH
from toolchain.frontend.nodes import Arrival, Exit, Node, Outcome
from toolchain.frontend.signals import ExamplesNeeded, Unsupported
from toolchain.frontend.staged import operand_of, wrap
from toolchain.frontend.storages import PathState, Storage, View
from toolchain.frontend.templates import fresh_extent
from toolchain.ir import UNKNOWN_LOCATION, Function, Location, Operand, Program, ScalarType, TensorType, Value
from toolchain.ir.graph import Cfg


class ProgramExplorer:
    """Explores one callable."""

    def __init__(
        self,
        module: Callable[..., Any],
        calls: Sequence[Call],
        budget: int,
        progress: Callable[[int], None] | None,
        host_calls: HostCalls,
    ) -> None:
        self._module = module
        self._target = module.forward if isinstance(module, torch.nn.Module) else module
        self.world = World({"": module})
        self.constants = ConstantPool(self.world.tensor_names)
        self.explorer = Explorer(self.world, self.constants, budget, progress)
        self.explorer.expand = self._expand
        self.explorer.on_return = self._on_return
        self.explorer.machine.calls.host_calls.known = host_calls
        self.recorder = self.explorer.recorder
        self.entries: list[Entry] = make_entries(self._target, calls, self.recorder.new_value)

    def run(self) -> Program:
        start = Arrival(None, 0, Snapshot((), {}, PathState.empty()))
        self.explorer.arrive(STATE, start, ())
        with _as_at_build():
            self.explorer.explore()
        if self.explorer.problems:
            raise UnsupportedModelError(sorted(self.explorer.problems, key=lambda p: (p.file, p.line, p.code)))
        return self._program()

    # ---- calls

    def _expand(self, node: Node) -> None:
        """A state between calls: each entry may be called in it."""
        assert node.merged is not None
        node.exit = Exit("calls")
        for number in range(len(self.entries)):
            start = Node(
                None, ((number, 0),), (id(node), number), location=self._definition(), setup=self._enter(number)
            )
            start.arrivals.append(Arrival(node, number, node.merged.snapshot))
            self.explorer.starts[start.function] = node.merged.snapshot
            node.exit.targets.append(self.explorer.add_node(start))

    def _definition(self) -> Location:
        """Where the program is written."""
        code = getattr(inspect.unwrap(self._target), "__code__", None)
        return (
            UNKNOWN_LOCATION if code is None else Location(code.co_filename, code.co_firstlineno, 0, code.co_qualname)
        )

    def _enter(self, number: int) -> Callable[[Node], None]:
        entry = self.entries[number]
        made: dict[int, torch.Tensor] = {}  # the same arguments whenever the block is run again

        def setup(node: Node) -> None:
            values = iter(input_values(entry.point))
            leaves = iter(range(len(entry.point.inputs)))

            def leaf(example: Any, name: str) -> Any:
                return self._input(next(leaves), next(values), example, made)

            with self.recorder.paused():
                args = tuple(rebuild(a, leaf) for a in entry.example.args)
                kwargs = {k: rebuild(v, leaf) for k, v in entry.example.kwargs.items()}
            machine = self.explorer.machine
            machine.frames.clear()
            machine.call(polyfills.root, (self._module, args, kwargs), {}, PUSH)

        return setup

    def _input(self, number: int, value: Value, example: Any, made: dict[int, torch.Tensor]) -> Any:
        if isinstance(example, Dynamic):
            assert isinstance(value.type, ScalarType)
            return wrap(value, value.type, True)
        assert isinstance(value.type, TensorType)
        if number not in made:
            shape = tuple(fresh_extent(self.recorder) if d is None else d for d in value.type.dims)
            made[number] = fresh_root(self.recorder, shape, example.dtype, value)
            view = View(Storage(external=True, label=("input", number)), tuple(made[number].shape))
        else:
            view = self.recorder.view_of(made[number])
        self.recorder.adopt(made[number], view, value)
        return made[number]

    def _on_return(self, node: Node, end: Exit) -> None:
        state = self.recorder.state
        if end.kind == "return":
            try:
                result = structure_of(end.result, self._leaf)
            except TypeError as error:
                raise Unsupported(
                    "TC170", f"the result: {error}", "return tensors, Python values and containers of them"
                ) from error
            arguments: tuple[Operand, ...] = ()
        else:
            assert end.exception is not None
            result = None
            arguments = tuple(self._argument(a) for a in end.exception.args)
        mutated = self._mutated_inputs(state)
        after = self.explorer.settled([], self.world.changed())
        end.outcome = Outcome(result, arguments, mutated)
        after.path = _between_calls(after.path)
        self.explorer.arrive(STATE, Arrival(node, 0, after), ())

    def _leaf(self, value: Any, _: str) -> Any:
        return self.recorder.value_of(value) if isinstance(value, torch.Tensor) else operand_of(value)

    def _argument(self, value: Any) -> Operand:
        plain = operand_of(value)
        if isinstance(plain, Value) or plain is None or isinstance(plain, (bool, int, float, str)):
            return plain
        return str(plain)

    def _mutated_inputs(self, state: PathState) -> tuple[tuple[int, Operand], ...]:
        out = []
        for storage, version in state.versions.items():
            if version and isinstance(storage.label, tuple) and storage.label[0] == "input":
                root = next(v for v in state.values if v.storage is storage and v.base is None)
                out.append((storage.label[1], state.values[root][1]))
        return tuple(sorted(out, key=lambda pair: pair[0]))

    # ---- the result

    def _program(self) -> Program:
        states = state_order(self.explorer)
        name = (
            type(self._module).__name__
            if isinstance(self._module, torch.nn.Module)
            else getattr(self._module, "__name__", "program")
        )
        functions = build_functions(states, [e.point for e in self.entries])
        _check_loops(functions)
        descriptions = states_of(states, self.world, self.constants)
        first = states[0].arrivals
        at = next(n for n, a in enumerate(first) if a.source is None)
        initial = tuple(p.operands[at] for p in states[0].parameters)
        return Program(
            name=name,
            entries=tuple(e.point for e in self.entries),
            states=descriptions,
            initial_state=initial,  # type: ignore[arg-type]
            functions=functions,
            constants=dict(self.constants.tensors),
        )


def _check_loops(functions: Sequence[Function]) -> None:
    """Hosts write loops as loops, which have one entrance. Raises UnsupportedModelError TC101 where one has several."""
    for function in functions:
        blocks = {b.id: b for b in function.blocks}
        for _, target in Cfg(function).irreducible_edges:
            at = blocks[target].location
            text = "paths in states that cannot be merged lead into the middle of a loop"
            hint = "make the values the same on all paths before the loop, or take the steps of a generator out of it"
            raise UnsupportedModelError([Problem("TC101", at.file, at.line, text, hint, at.column, at.column)])


def _between_calls(path: PathState) -> PathState:
    """What survives a call: the contents of storages, and which of those from before the first call have changed."""
    kept = PathState.empty()
    kept.versions = {s: v for s, v in path.versions.items() if s.real is not None}
    for view, (version, operand) in path.values.items():
        if version == path.version(view.storage):
            kept.values[view] = (kept.version(view.storage), operand)
    kept.facts = path.facts
    return kept


@contextlib.contextmanager
def _as_at_build() -> Iterator[None]:
    """The modes that exploration runs in: no gradients, and no fused kernels that only exist for eager."""
    fastpath, mkldnn = torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    torch._C._set_mkldnn_enabled(False)
    try:
        with (
            torch.no_grad(),
            torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
            torch_adapter.quiet(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fastpath)
        torch._C._set_mkldnn_enabled(mkldnn)


def explore_calls(
    module: Callable[..., Any],
    calls: Sequence[Call],
    budget: int,
    progress: Callable[[int], None] | None = None,
    host_calls: HostCalls | None = None,
) -> Program:
    """Explores ``module`` for the example calls. Raises UnsupportedModelError with every problem found."""
    known = host_calls or HostCalls()
    try:
        try:
            return ProgramExplorer(module, calls, budget, progress, known).run()
        except ExamplesNeeded:
            known.observe(module, calls)
            return ProgramExplorer(module, calls, budget, progress, known).run()
    except BudgetExceeded as stop:
        raise UnsupportedModelError([stop.problem]) from None
