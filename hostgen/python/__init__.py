"""The Python host: a readable module over ``runtime_py``.

``program.py`` defines ``FUNCTIONS = {(entry index, state index): function}``. A function is called as
``function(rt, *state values, *inputs)`` and returns the result as a plain Python structure. It uses

- ``rt.calls[n](*operands)``: the n-th of ``toolchain.ir.instances(program)``; one result comes bare, several as tuple;
- ``rt.host_calls[n](*operands)``: the n-th of ``toolchain.ir.user_functions(program)``, a function of the user's;
- ``rt.constants["name"]``: a weight that crosses a block border or is returned;
- ``rt.decide(block id, condition) -> bool``: at every branch, data or size;
- ``rt.commit(next state, (state values...), ((input index, new value)...))``: last before a return or raise, and only
  if the state or an argument changes;
- ``rt.make(kind, module, qualname, {field: value})``: an instance of a user's class in the result;
- ``ops.<opcode>(*operands, *attributes)`` with ``from runtime_py import hostops as ops``. Where Python has a meaning
  for the opcode (a keyword or a builtin) the function's name ends in an underscore: ``ops.not_``, ``ops.list_``.
  ``ops.format_(*operands, parts=...)`` and ``ops.list_(*elements, arity=...)`` get their attribute by keyword.

Comparisons, ``not``, ``select``, ``& | ^ ~ >> / %``, ``min``, ``max``, ``float``, ``bool``, ``str`` and ``repr`` are
printed as Python; so are ``+ - * // abs`` on floats, and on integers where 64 bits cannot overflow. Lists are Python
lists (of tuples, for elements of several values), never changed in place.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import jinja2

from hostgen.names import distinct_names
from hostgen.python.emitter import RESERVED, emit_function
from toolchain.ir import Program, user_functions


def generate(program: Program) -> Mapping[str, str]:
    """``{"program.py": text}`` for a partitioned program."""
    names = distinct_names([f.name for f in program.functions], RESERVED | {"FUNCTIONS"})
    functions = [emit_function(program, f, name) for f, name in zip(program.functions, names, strict=True)]
    host_calls = map(str, user_functions(program))
    text = _template().render(name=program.name, functions=functions, host_calls=list(host_calls))
    return {"program.py": text}


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hostgen"), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template("python/program.py.j2")
