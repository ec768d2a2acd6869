"""Readable, distinct names for the variables of a host program."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Mapping, Sequence

from toolchain.ir import Function, ListType, Program, ScalarType, TensorType, Value


def identifier(text: str) -> str:
    """``text`` with everything that no identifier may hold replaced; ``layer.cache`` becomes ``layer_cache``."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    return f"_{name}" if not name or name[0].isdigit() else name


def host_function(opcode: str) -> str:
    """The runtimes' function for an opcode: with an underscore where Python has a meaning for it."""
    return f"{opcode}_" if keyword.iskeyword(opcode) or hasattr(builtins, opcode) else opcode


def distinct_names(wishes: Sequence[str], reserved: frozenset[str]) -> list[str]:
    """One identifier per wish, all different and none in ``reserved``."""
    taken = set(reserved)
    return [_distinct(identifier(wish), taken) for wish in wishes]


def name_variables(
    program: Program, function: Function, variables: Mapping[Value, Value], reserved: frozenset[str]
) -> Mapping[Value, str]:
    """A name for every value; values of one variable share it.

    State slots and inputs are named after the user's; other variables after the user's variable where the front end
    knows it, else by kind and number. No name is in ``reserved``.
    """
    wished = dict(zip(function.blocks[0].parameters, _entry_names(program, function), strict=True))
    chosen: dict[Value, str] = {}
    taken = set(reserved)
    # Entry parameters come first in the mapping and so get their names undisturbed.
    for value in variables:
        wish = wished.get(value) or value.name
        root = variables[value]
        if wish and root not in chosen:
            chosen[root] = _distinct(identifier(wish), taken)
    for root in dict.fromkeys(variables.values()):
        if root not in chosen:
            chosen[root] = _distinct(f"{_letter(root)}{root.id}", taken)
    return {value: chosen[root] for value, root in variables.items()}


def _entry_names(program: Program, function: Function) -> list[str]:
    slots = [slot.name for slot in program.states[function.state].slots]
    return slots + [leaf.name for leaf in program.entries[function.entry].inputs]


def _distinct(name: str, taken: set[str]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    taken.add(candidate)
    return candidate


def _letter(value: Value) -> str:
    match value.type:
        case TensorType(dtype="bool"):
            return "p"
        case TensorType():
            return "v"
        case ListType():
            return "xs"
        case ScalarType(kind=kind):
            return {"int": "n", "float": "f", "bool": "b", "str": "s", "object": "o"}[kind]
        case _:
            return "t"
