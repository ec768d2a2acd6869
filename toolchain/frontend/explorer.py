"""Explores all paths of a program into a graph of blocks.

Every node is a point of the program with an abstract state; processing it runs the machine until the block ends: at a
decision (two successors), at a join (an arrival there), or with a return or raise. Nodes are processed in the order of
the program, so that paths have met at a join before the exploration goes on behind it; a late arrival that does not fit
widens the join's state and discards what was explored from the narrower one.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any

from toolchain.diagnostics import Problem
from toolchain.frontend.constants import ConstantPool
from toolchain.frontend.context import pop_context, push_context
from toolchain.frontend.heap import Snapshot, World, capture, image_of, is_reachable, restore
from toolchain.frontend.machine.frame import Frame
from toolchain.frontend.machine.interpreter import Finished, Machine
from toolchain.frontend.merge import Hints, Merged, Merger, Mismatch, OtherIteration, describe
from toolchain.frontend.nodes import NOWHERE, Arrival, Exit, Node, drop_arrivals
from toolchain.frontend.numbers import StagedBool
from toolchain.frontend.positions import is_driven, is_rollable, join_key, priority, references_of, tensors_in
from toolchain.frontend.recorder import Ghost, NotDeterministic, Recorder
from toolchain.frontend.signals import KeepIdentity, NeedsConstant, Origin, PathEnds, Unsupported
from toolchain.frontend.storages import PathState
from toolchain.frontend.templates import Template, list_operand, list_type_of
from toolchain.ir import HostOp, Location, Operand

_MOST_VARIANTS = 128
"""How many states of one place are kept apart. An endless unrolling would otherwise take until the budget is spent."""
_UNROLL_AT = 12
"""A rolled loop that has so many states is unrolled. Fewer are first iterations that differ."""
STATE = ("state between calls",)
"""The key of the nodes where calls begin: the entry of a program is a loop head over what calls leave behind."""


class Explorer:
    """Drives a machine over all paths.

    merges: paths that meet go on as one. Without, each goes to the end of the call by itself; tests compare the two.
    """

    merges = True

    def __init__(
        self, world: World, constants: ConstantPool, budget: int, progress: Callable[[int], None] | None = None
    ) -> None:
        self.world = world
        self.machine = Machine(self)
        self.machine.context_values = world.context_values
        self.recorder = Recorder(constants, self.machine.location, self._raising_shows)
        self.machine.recorder = self.recorder
        self.problems: list[Problem] = []
        self.nodes: list[Node] = []
        self.mismatches: dict[Any, Mismatch] = {}
        self.on_return: Callable[[Node, Exit], None] = lambda node, end: None
        self.expand: Callable[[Node], None] = lambda node: None
        self._by_key: dict[Any, list[Node]] = {}
        self._hints: dict[Any, Hints] = {}
        self._queue: list[tuple[tuple[Any, ...], int, Node]] = []
        self._order = itertools.count()
        self._current: Node | None = None
        self.starts: dict[Any, Snapshot] = {}  # where each function's calls begin
        self._thinned: list[Node] = []  # joins that have lost some of their arrivals and kept others
        self._touched: list[Any] | None = None  # the world's changes, while nothing has run since they were looked for
        self._budget = budget
        self._runs = 0
        self._progress = progress

    # ---- work

    def explore(self) -> None:
        push_context(self.recorder)
        try:
            while self._queue:
                _, _, node = heapq.heappop(self._queue)
                if node.alive and not node.done:
                    self._process(node)
        finally:
            pop_context()
            self.world.reset({})

    def queue(self, node: Node) -> None:
        node.done = False
        heapq.heappush(self._queue, (node.priority, next(self._order), node))

    def add_node(self, node: Node) -> Node:
        self.nodes.append(node)
        if node.key is not None:
            self._by_key.setdefault(node.key, []).append(node)
        self.queue(node)
        return node

    def _process(self, node: Node) -> None:
        self._runs += 1
        if self._runs > self._budget:
            self._over_budget()
        if self._progress is not None:
            self._progress(self._runs)
        node.done = True
        try:
            self._prepare(node)
        except Mismatch as mismatch:
            if len(node.arrivals) > 1:
                self._split(node)
            else:
                self._cannot_stay(node, mismatch)
            return
        if node.expand is not None:
            node.expand(node)
            return
        self._current = node
        self._run(node)
        node.operations = self.recorder.operations

    def _cannot_stay(self, node: Node, mismatch: Mismatch) -> None:
        """A single arrival that does not fit its own join: what must be a constant there is not one."""
        at = self._place(node.location)
        text = f"{describe(mismatch.path)} is only known at run time, and is needed as a constant ({mismatch.reason})"
        self.problems.append(_problem("TC121", at, text, "keep it in a tensor, or compute it from constants"))
        node.exit = Exit("problem", location=at)

    def _too_many_variants(self, key: Any, location: Location) -> None:
        mismatch, at = self.mismatches[key], self._place(location)
        what = (
            "every call leaves another state behind"
            if key == STATE
            else f"{_MOST_VARIANTS} paths come here in different states"
        )
        text = f"{what}: {mismatch.reason} in {describe(mismatch.path)}"
        raise BudgetExceeded(_problem("TC101", at, text, "keep what differs in a tensor, or make it the same"))

    def _place(self, location: Location) -> Location:
        """``location``, or the user's last line that was explored where there is none."""
        known = (n.location for n in reversed(self.nodes) if n.location != NOWHERE)
        return location if location != NOWHERE else next(known, NOWHERE)

    def _over_budget(self) -> None:
        where, mismatch = next(
            iter(sorted(self.mismatches.items(), key=lambda i: -self._splits.get(i[0], 0))), (None, None)
        )
        reason = (
            f"; paths stay apart because of {mismatch.reason} in {describe(mismatch.path)}"
            if mismatch is not None
            else ""
        )
        location = self._place(self._locations.get(where, self.machine.location()))
        text = f"more than {self._budget} blocks were explored without an end{reason}"
        hint = "make the value the same on all paths, or give BuildOptions(budget=...) a larger number"
        raise BudgetExceeded(
            Problem("TC101", location.file, location.line, text, hint, location.column, location.column)
        )

    @property
    def _splits(self) -> dict[Any, int]:
        return {key: len(nodes) for key, nodes in self._by_key.items()}

    @property
    def _locations(self) -> dict[Any, Location]:
        return {key: nodes[0].location for key, nodes in self._by_key.items() if nodes}

    def _prepare(self, node: Node) -> None:
        """Puts machine and recorder where the node starts."""
        if node.ghosts:
            assert node.base is not None
            start, answer = node.base, None
        elif node.key is None:
            start, answer = node.arrivals[0].snapshot, node.answer
        else:
            node.merged = self._merge(node, node.arrivals)
            self._remember(node, node.merged)
            start, answer = node.merged.snapshot, None
        node.entry = start
        restore(start, self.machine.frames, self.world, self._touched)
        self._touched = None
        self.recorder.open(start.path.copy(), node.ghosts)
        self.machine.answer = answer
        self.machine.entered = node.setup is None
        if node.is_head:
            frame = self.machine.frames[-1]
            _, _, visits = frame.heads.get(node.head_pc, (None, 0, 0))
            frame.heads[node.head_pc] = (node, self.recorder.state.depth, visits)
        if node.ghosts:
            base_node = node.arrivals[0].source
            assert base_node is not None
            first = self._first_of(base_node)
            self.machine.entered = first.setup is None
            self.machine.answer = first.answer

    @staticmethod
    def _first_of(node: Node) -> Node:
        while node.ghosts:
            source = node.arrivals[0].source
            assert source is not None
            node = source
        return node

    def _run(self, node: Node) -> None:
        try:
            self._run_block(node)
        except PathEnds:
            if not node.alive or not node.done:
                return  # what this block arrived at was widened, and the block discarded with it
            if node.exit is None or self.recorder.fork is not None:
                self._fork_inside_native_code(node)
        except Finished as finished:
            self._finish(node, finished)
        except NeedsConstant as signal:
            self._hint(signal.origins, "const", signal.what)
        except KeepIdentity as signal:
            self._hint(signal.origins, "keep", "identity")
        except Unsupported as signal:
            self._problem(node, signal)
        except NotDeterministic as signal:
            self._problem(
                node, Unsupported("TC110", f"running the same code twice gave different operations ({signal})")
            )

    def _run_block(self, node: Node) -> None:
        start = self._first_of(node).setup
        try:
            with self.recorder.fake_mode, self.recorder:
                if start is not None:
                    start(self._first_of(node))
                self.machine.run()
        except PathEnds:
            if self.recorder.reason is not None:  # native code swallowed the signal that ended the block
                raise self.recorder.reason from None
            raise

    def _problem(self, node: Node, signal: Unsupported) -> None:
        at = self.machine.location()
        end = at.column
        frame = next((f for f in reversed(self.machine.frames) if f.location() == at), None)
        if frame is not None:
            end = frame.info.instructions[frame.current].end_column
        problem = Problem(signal.code, at.file, at.line, signal.message, signal.hint, at.column, max(end, at.column))
        if problem not in self.problems:
            self.problems.append(problem)
        node.exit = Exit("problem", location=at)

    def _finish(self, node: Node, finished: Finished) -> None:
        kind = "return" if finished.exception is None else "raise"
        location = self.machine.raised_at if kind == "raise" else node.location
        node.exit = Exit(kind, result=finished.result, exception=finished.exception, location=location)
        try:
            with self.recorder.fake_mode, self.recorder:
                self.on_return(node, node.exit)
        except Unsupported as signal:
            problem = _problem(signal.code, location, signal.message, signal.hint)
            self.problems.append(problem)
            node.exit = Exit("problem", location=location)
        except NeedsConstant as signal:
            self._hint(signal.origins, "const", signal.what)

    # ---- decisions

    def at_decision(self, machine: Machine, condition: StagedBool) -> None:
        node = self._current
        assert node is not None
        frame = machine.frames[-1]
        frame.open |= {frame.info.closes_at(frame.current)}
        touched = self.world.changed()
        snapshot = capture(machine.frames, self.world, self.recorder.state, touched)
        node.exit = Exit("branch", condition=condition, location=machine.location())
        for slot, answer in enumerate((True, False)):
            side = Snapshot(snapshot.frames, snapshot.images, self._decided(snapshot.path, condition, answer))
            successor = Node(
                None, priority(self.machine.frames, answer), node.function, answer=answer, location=machine.location()
            )
            successor.arrivals.append(Arrival(node, slot, side))
            node.exit.targets.append(self.add_node(successor))
        self._touched = touched
        self.recorder.closed = True
        raise PathEnds

    def _raising_shows(self) -> bool:
        """In ``try`` the program may go on. A call that ends leaves behind what it has changed by then."""
        return self.machine.in_try() or self._has_left_marks()

    def _has_left_marks(self) -> bool:
        assert self._current is not None
        start, versions = self.starts[self._current.function], self.recorder.state.versions
        if any(s.external and version != start.path.version(s) for s, version in versions.items()):
            return True
        for value in self.world.changed():
            _, before = start.images.get(id(value), (value, None))
            labels, refs = before or self.world.baseline(value)
            now_labels, now_refs = image_of(value)
            if labels != now_labels or any(a is not b for a, b in zip(refs, now_refs, strict=True)):
                return True
        return False

    def is_reachable(self, value: Any) -> bool:
        return is_reachable(value, self.machine.frames, self.world, self.recorder.state)

    @staticmethod
    def _decided(path: PathState, condition: StagedBool, answer: bool) -> PathState:
        state = path.copy()
        state.depth += 1
        state.decided[condition.operand.id] = answer
        if condition.expr is not None:
            state.facts.learn(condition.expr, answer)
        return state

    def _fork_inside_native_code(self, node: Node) -> None:
        condition = self.recorder.fork
        if condition is None:
            raise AssertionError("a block ended without a reason")
        assert node.entry is not None
        node.exit = Exit("branch", condition=condition, location=self.machine.location())
        operations = list(self.recorder.operations)
        for slot, answer in enumerate((True, False)):
            ghosts = (*node.ghosts, Ghost(operations, condition.operand.id, answer))
            successor = Node(
                None,
                priority(self.machine.frames, answer),
                node.function,
                ghosts=ghosts,
                base=node.entry,
                location=self.machine.location(),
            )
            successor.arrivals.append(Arrival(node, slot, node.entry))
            node.exit.targets.append(self.add_node(successor))

    # ---- joins

    def at_join(self, machine: Machine, is_head: bool) -> None:
        frame = machine.frames[-1]
        pc = frame.pc
        frame.heads = frame.live_heads(pc)
        if not self.merges:
            return
        if is_head:
            is_head = self._visit_head(frame, pc)
        if not is_head and not (frame.open and (pc in frame.info.joins or pc in frame.open)):
            return
        frame.open -= {pc}
        node = self._current
        assert node is not None
        own = frame.heads.pop(pc, None) if is_head else None
        key = join_key(node.function, machine.frames, is_head)
        rank = priority(machine.frames, True)
        if own is not None:
            frame.heads[pc] = own
        touched = self.world.changed()
        snapshot = self.settled(machine.frames, touched)
        node.exit = Exit("jump", location=machine.location())
        arrival = Arrival(node, 0, snapshot)
        self.arrive(key, arrival, rank, is_head, pc, machine.location())
        self._touched = touched
        self.recorder.closed = True
        raise PathEnds

    def _visit_head(self, frame: Frame, pc: int) -> bool:
        """Whether this visit of a loop head is a join of a loop that may be rolled."""
        if is_driven(frame):
            return False
        entry = frame.heads.get(pc)
        depth = self.recorder.state.depth
        rollable = is_rollable(frame)
        if entry is None:
            frame.heads[pc] = (None, depth, 0)
            return rollable
        node, before, visits = entry
        frame.heads[pc] = (node, depth, visits if node is not None and rollable else visits + 1)
        if node is None and rollable and before != depth:
            return True
        return node is not None and rollable and before != depth

    def settled(self, frames: list[Frame], touched: list[Any]) -> Snapshot:
        """The present point, with the contents of all live tensors computed here, while the block can still record."""
        live = capture(frames, self.world, self.recorder.state, touched)
        seen: set[int] = set()
        for value, image in live.images.values():
            references = references_of(value) if isinstance(value, Frame) else image[1]
            for ref in tensors_in(references):
                if id(ref) not in seen:
                    seen.add(id(ref))
                    view = self.recorder.view_of(ref)
                    self.recorder.value_of_view(view.root())
                    self.recorder.value_of_view(view)
        return Snapshot(live.frames, live.images, self.recorder.state.copy())

    def arrive(
        self,
        key: Any,
        arrival: Arrival,
        priority: Any,
        is_head: bool = False,
        pc: int = -1,
        location: Location = NOWHERE,
    ) -> None:
        source = arrival.source
        variants = 0
        for node in list(self._by_key.get(key, ())):
            obstacle = self._try_arrive(node, arrival)
            if obstacle is None:
                return
            variants += not isinstance(obstacle, OtherIteration)
        if variants >= _UNROLL_AT and self._unroll(key):
            if source is None or source.alive:
                self.arrive(key, arrival, priority, is_head, pc, location)
            return
        if variants >= _MOST_VARIANTS:
            self._too_many_variants(key, location)
        node = Node(key, priority, source.function if source else None, is_head=is_head, head_pc=pc, location=location)
        node.expand = self.expand if key == STATE else None
        node.arrivals.append(arrival)
        if source is not None and source.exit is not None:
            source.exit.targets = [node]
        self.add_node(node)

    def _try_arrive(self, node: Node, arrival: Arrival) -> Mismatch | None:
        """Why ``arrival`` cannot be merged into ``node``, or None after doing so."""
        try:
            merged = self._merge(node, [*node.arrivals, arrival])
        except Mismatch as mismatch:
            self.mismatches[node.key] = mismatch
            return mismatch
        node.arrivals.append(arrival)
        if arrival.source is not None and arrival.source.exit is not None:
            arrival.source.exit.targets[arrival.slot :] = [node]
        if node.merged is not None and merged.profile == node.merged.profile and node.entry is not None:
            node.merged.parameters[:] = merged.parameters
        elif node.done:
            if node.merged is not None:
                self._separate(node.key, node.merged, merged)
            self._remember(node, merged)
            self._discard(node)
            self.queue(node)
        return None

    def _merge(self, node: Node, arrivals: list[Arrival]) -> Merged:
        key = node.key
        hints = self._hints.setdefault(key, Hints())

        def list_operand(n: int, values: list[Any], template: Template | None) -> Operand:
            return self._list_operand(arrivals[n], values, template)

        snapshots = [a.snapshot for a in arrivals]
        is_head, is_state, cache = node.is_head or key == STATE, key == STATE, node.cache
        merger = Merger(
            self.recorder, self.world, snapshots, hints, key, list_operand, cache, node.conflicts, is_head, is_state
        )
        return merger.run()

    def _list_operand(self, arrival: Arrival, values: list[Any], template: Template | None) -> Operand:
        """A plain list as a host list, made at the end of the block that the arrival comes from."""
        source = arrival.source
        emitted = [] if source is None else self.recorder.operations if source is self._current else source.operations
        location = source.location if source is not None else NOWHERE

        def make(of: Template | None, operands: tuple[Operand, ...]) -> Operand:
            key = (str(list_type_of(of)), *map(repr, operands))
            if key not in arrival.lists:
                result = self.recorder.new_value(list_type_of(of))
                emitted.append(HostOp("list", operands, (result,), (of.arity if of else 0,), location))
                arrival.lists[key] = result
            return arrival.lists[key]

        saved, self.recorder.state = self.recorder.state, arrival.snapshot.path
        try:
            return list_operand(self.recorder, values, template, make)
        finally:
            self.recorder.state = saved

    def _remember(self, node: Node, merged: Merged) -> None:
        node.conflicts = merged.conflicts
        hints = self._hints.setdefault(node.key, Hints())
        for path, hint in merged.hints.leaves.items():
            hints.leaves.setdefault(path, hint)
        for path, dims in merged.hints.dims.items():
            hints.dims[path] = hints.dims.get(path, frozenset()) | dims
        hints.floors.update(merged.hints.floors)
        hints.own |= merged.hints.own
        hints.data |= merged.hints.data
        hints.templates.update(merged.hints.templates)
        hints.changed.update(merged.hints.changed)
        hints.owners.update(merged.hints.owners)
        hints.groups.update(merged.hints.groups)
        hints.storages.update(merged.hints.storages)

    def _separate(self, key: Any, before: Merged, after: Merged) -> None:
        """Leaves that shared an argument with others than now form groups of their own, so that widening ends; the
        second time each is alone."""
        unshared = self._hints.setdefault(key, Hints()).unshared
        groups: dict[Any, Any] = {}
        for path, partner in after.partners.items():
            if before.partners.get(path, partner) != partner:
                group = groups.setdefault((before.partners[path], partner), path)
                unshared[path] = path if path in unshared else group

    def _hint(self, origins: frozenset[Origin], hint: Any, what: str) -> None:
        """Explores the joins that ``origins`` name again, with these leaves kept apart."""
        for key, path in origins:
            leaves = self._hints.setdefault(key, Hints()).leaves
            leaves[path] = hint  # type: ignore[index]
            # A loop in which something must be constant is unrolled: the positions of its iterators are constants too.
            leaves.update((p, hint) for p in list(leaves) if p[-1] == "index" and hint == "const")
        self._thinned.clear()
        for key in {key for key, _ in origins}:
            self._split_all(key)
        if hint == "keep":
            self._forgive(origins)
        self._explore_again()

    def _explore_again(self) -> None:
        """Starts the present block anew where it has other arrivals than those that were sent on another way.

        What these arrivals widened on the way to the block is merged without them.
        """
        node = self._current
        assert node is not None
        if not (node.alive and node.done):
            return
        for join in self._thinned:  # grows
            if join.alive and join is not node:
                self._discard(join)
                self.queue(join)
        if node.alive:
            self._discard(node)
            self.queue(node)

    def _forgive(self, origins: frozenset[Origin]) -> None:
        """What ``origins``, now kept apart, are blamed for elsewhere is found again where it is still so."""
        for node in self.nodes:
            if node.alive and any(blamed & origins for blamed in node.conflicts.values()):
                node.conflicts = {p: b - origins for p, b in node.conflicts.items() if not b & origins or b - origins}
                self._discard(node)
                self.queue(node)

    def _unroll(self, key: Any) -> bool:
        """Makes the positions of the iterators at a join constants; whether any was not."""
        leaves = self._hints.setdefault(key, Hints()).leaves
        rolled = [p for p, hint in leaves.items() if p[-1] == "index" and hint == "vary"]
        leaves.update(dict.fromkeys(rolled, "const"))
        if rolled:
            self._split_all(key)
        return bool(rolled)

    def _split_all(self, key: Any) -> None:
        for node in list(self._by_key.get(key, ())):
            if node.alive:
                self._split(node)

    def _split(self, node: Node) -> None:
        """Sends the arrivals of a join on their way again."""
        self._discard(node)
        arrivals, node.arrivals = node.arrivals, []
        self._remove(node)
        for arrival in arrivals:
            if arrival.source is None or arrival.source.alive:
                self.arrive(node.key, arrival, node.priority, node.is_head, node.head_pc, node.location)

    def _discard(self, node: Node) -> None:
        """Forgets what was explored from ``node``."""
        targets = node.exit.targets if node.exit is not None else []
        node.exit = None
        node.done = False
        node.merged = None
        for target in targets:
            drop_arrivals(target, node)
            if not target.arrivals:
                self._discard(target)
                self._remove(target)
            elif target.done:
                self._thinned.append(target)

    def _remove(self, node: Node) -> None:
        node.alive = False
        siblings = self._by_key.get(node.key)
        if siblings and node in siblings:
            siblings.remove(node)


class BudgetExceeded(Exception):
    """The exploration cannot go on."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def _problem(code: str, at: Location, text: str, hint: str) -> Problem:
    return Problem(code, at.file, at.line, text, hint, at.column, at.column)


__all__ = ["STATE", "BudgetExceeded", "Explorer"]
