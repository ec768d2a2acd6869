"""Capturing and restoring the Python heap."""

from __future__ import annotations

import collections

import pytest
import torch

from toolchain.frontend.heap import World, capture, image_of, is_tracked, put_back, restore
from toolchain.frontend.storages import PathState


class Node:
    kinds = 1

    def __init__(self, value):
        self.value = value
        self.next = None


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 1


def _cell(value):
    return (lambda: value).__closure__[0]


def _changed(value):
    """Changes ``value`` in every way that its type has."""
    if isinstance(value, (list, collections.deque)):
        value.append(9)
        value[0] = 8
    elif isinstance(value, dict):
        value["new"] = 9
        value.pop(next(iter(value)))
    elif isinstance(value, set):
        value.add(9)
    elif isinstance(value, BaseException):
        value.args = ("other",)
    elif isinstance(value, type(_cell(1))):
        value.cell_contents = 9
    elif isinstance(value, Slotted):
        value.a, value.b = 9, 9
    else:
        value.value = 9
        value.extra = 9


MAKERS = {
    "list": lambda: [1, 2],
    "dict": lambda: {"a": 1, "b": 2},
    "ordered": lambda: collections.OrderedDict(a=1, b=2),
    "counter": lambda: collections.Counter(a=3, b=1),
    "defaultdict": lambda: collections.defaultdict(list, a=1),
    "set": lambda: {1, 2},
    "deque": lambda: collections.deque([1, 2], maxlen=3),
    "cell": lambda: _cell(1),
    "object": lambda: Node(1),
    "slots": Slotted,
    "exception": lambda: ValueError("text"),
}


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_contents_are_put_back(name):
    value = MAKERS[name]()
    assert is_tracked(value)
    before = image_of(value)
    _changed(value)
    assert image_of(value) != before
    put_back(value, before)
    assert image_of(value) == before


def test_the_order_of_a_dict_is_put_back():
    value = {"a": 1, "b": 2}
    before = image_of(value)
    value["a"] = value.pop("a")
    put_back(value, before)
    assert list(value) == ["a", "b"]


def test_the_world_notices_only_what_changed():
    first, second = Node(1), Node(2)
    first.next = second
    world = World({"root": first})
    assert world.changed() == []
    second.value = 3
    assert world.changed() == [second]
    world.reset({})
    assert second.value == 2


def test_names_of_the_world():
    module = torch.nn.Sequential(torch.nn.Linear(2, 2))
    module.memory = {"k": [Node(1)]}
    world = World({"": module})
    assert world.tensor_names[id(module[0].weight)] == "0.weight"
    assert world.names[id(module.memory["k"][0])] == "memory['k'][0]"


def test_class_attributes_belong_to_the_world():
    world = World({"root": Node(1)})
    Node.kinds = 2
    assert world.changed() == [Node]
    world.reset({})
    assert Node.kinds == 1


_assigned = 1


def _assigns():
    global _assigned
    _assigned += 1


def test_assigned_globals_belong_to_the_world():
    world = World({"root": _assigns})
    _assigns()
    assert len(world.changed()) == 1
    world.reset({})
    assert _assigned == 1


def test_a_snapshot_brings_sharing_back():
    shared = [1]
    root = Node([shared, shared])
    world = World({"root": root})
    root.value = [shared, [2], shared]
    inner = root.value[1]
    snapshot = capture([], world, PathState.empty())
    root.value[1].append(3)
    root.value.pop()
    shared.append(4)
    restore(snapshot, [], world)
    assert root.value == [[1], [2], [1]]
    assert root.value[0] is root.value[2] is shared
    assert root.value[1] is inner
    world.reset({})
    assert root.value == [[1], [1]]


def test_tensors_are_no_part_of_the_heap():
    world = World({"root": Node(torch.ones(2))})
    snapshot = capture([], world, PathState.empty())
    assert snapshot.images == {}
