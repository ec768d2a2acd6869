"""A bundle's recorded calls as C++ tables, for ``main.cpp``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hostgen.cpp.arrays import Array, Arrays
from hostgen.cpp.literals import literal, quoted
from runtime_py.constants import from_constant
from runtime_py.format import Entry, RecordedCall, RecordedTest, Tree
from runtime_py.integrity import OpenBundle
from runtime_py.recordings import array_path, load_array, read_calls, recorded_value
from runtime_py.signature import select_entry

_KINDS = {"tensor": "t", "int": "i", "float": "f", "bool": "b", "str": "s"}


@dataclass(frozen=True, slots=True)
class Recordings:
    """tests, entries: names of the tables of tests and of the entries' parameters, which are among ``arrays``."""

    arrays: tuple[Array, ...]
    tests: str
    entries: str


def describe_recordings(bundle: OpenBundle) -> Recordings:
    describer = _Describer(bundle)
    tests = describer.arrays.make("recorded::Test", map(describer.test, bundle.manifest.tests))
    entries = describer.arrays.make("recorded::Entry", map(_entry, bundle.manifest.entries))
    return Recordings(tuple(describer.arrays), tests, entries)


def _entry(entry: Entry) -> str:
    return f"{{{quoted(entry.name)}, {quoted(''.join(_KINDS[leaf.kind] for leaf in entry.inputs))}}}"


class _Describer:
    def __init__(self, bundle: OpenBundle) -> None:
        self._bundle = bundle
        self.arrays = Arrays()

    def test(self, test: RecordedTest) -> str:
        rows = (self._call(call, test) for call in read_calls(self._bundle, test))
        return f"{{{quoted(test.name)}, {self.arrays.make('recorded::Call', rows)}}}"

    def _call(self, call: RecordedCall, test: RecordedTest) -> str:
        entry, inputs = self._inputs(call.arguments, test)
        after = () if call.after is None else self._inputs(call.after, test)[1]
        outputs = () if call.result is None else tuple(_leaves(call.result, test))
        tables = (self.arrays.make("recorded::Datum", data) for data in (inputs, after, outputs))
        texts = map(quoted, (call.exception, call.text, call.printed))
        return f"{{{', '.join((str(entry), *tables, *texts))}}}"

    def _inputs(self, arguments: Tree, test: RecordedTest) -> tuple[int, tuple[str, ...]]:
        """The index of the entry that the call is meant for, and its inputs."""
        arrays: list[tuple[Any, str]] = []

        def array(tree: Tree) -> Any:
            arrays.append((load_array(self._bundle, test, tree), _tensor(tree, test)))
            return arrays[-1][0]

        args, kwargs = recorded_value(arguments, array)
        match = select_entry(self._bundle.manifest.entries, args, kwargs)
        texts = {id(loaded): text for loaded, text in arrays}
        return match.entry, tuple(texts.get(id(leaf)) or _scalar(leaf) for leaf in match.leaves)


def _leaves(tree: Tree, test: RecordedTest) -> Iterator[str]:
    match tree.kind:
        case "leaf":
            yield _tensor(tree, test)
        case "literal":
            yield _scalar(None if tree.literal is None else from_constant(tree.literal))
        case _:
            for item in tree.items:
                yield from _leaves(item, test)


def _tensor(tree: Tree, test: RecordedTest) -> str:
    return f"recorded::tensor({quoted(array_path(test, tree))})"


def _scalar(value: object) -> str:
    match value:
        case None:
            return "{}"
        case bool():
            return f"recorded::boolean({literal(value)})"
        case int():
            return f"recorded::integer({literal(value)})"
        case float():
            return f"recorded::number({literal(value)})"
    return f"recorded::text({quoted(str(value))})"
