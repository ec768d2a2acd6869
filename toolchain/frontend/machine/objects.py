"""Values of the standard library's types that only the running program knows: bytes, digests, matches, fractions.

What the program does with one is done by the host program, by the same function of Python. The functions of the
modules below neither change their arguments nor look at the outside world, so that calling them when the program does
is all that there is to them. A host list passes its present value.
"""

from __future__ import annotations

import importlib
import operator
from typing import TYPE_CHECKING, Any

from toolchain.frontend.context import Staged, context, union_origins
from toolchain.frontend.numbers import StagedNumber
from toolchain.frontend.signals import Unsupported
from toolchain.frontend.staged import HostList, StagedObject, StagedStr, operand_of, wrap
from toolchain.frontend.templates import common_template, list_operand
from toolchain.ir import BOOL, FLOAT, INT, OBJECT, Operand, ScalarType

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine

_MODULES = frozenset(
    [
        "base64", "binascii", "bz2", "cmath", "colorsys", "decimal", "difflib", "fractions", "hashlib", "html", "json",
        "lzma", "re", "statistics", "string", "struct", "textwrap", "unicodedata", "urllib", "zlib",
    ]
)  # fmt: skip
_BUILTINS = frozenset((bytes, chr, ord, hex, oct, bin, ascii, complex))
_COMPARISONS = frozenset((operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne))
_NEVER_FAIL: frozenset[Any] = frozenset((bool, len, operator.is_, operator.eq, operator.ne))
_ALIASES = {"_operator": "operator", "_hashlib": "hashlib", "_struct": "struct", "_json": "json"}


class Objects:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def takes(self, function: Any) -> bool:
        """Whether the host program can call ``function`` itself."""
        if isinstance(function, StagedObject) or _is_one_of(function, _BUILTINS):
            return True
        module, name = _path_of(function)
        return module.split(".")[0] in _MODULES and _found(module, name) is function

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], kind: ScalarType = OBJECT) -> Any:
        """``function(*args, **kwargs)`` on the host; ``kind``: of the result, where the function says it."""
        if isinstance(function, StagedObject):
            function, args = operator.call, (function, *args)
        operands = tuple(self._operand(v) for v in (*args, *kwargs.values()))
        if context().is_symbolic and function not in _NEVER_FAIL:
            self._machine.refuse_if_seen(f"a call of {':'.join(_path_of(function))}")
        target = (":".join(_path_of(function)), *kwargs)
        staged = [v for v in (*args, *kwargs.values()) if isinstance(v, Staged)]
        result = context().host("python_call", operands, kind, (target,))
        return wrap(result, kind, True, union_origins(*staged))

    def operator(self, function: Any, *operands: Any) -> Any:
        is_comparison = function in _COMPARISONS  # such types compare to a bool
        return self.call(function, operands, {}, BOOL if is_comparison else OBJECT)

    def truth(self, value: StagedObject) -> Any:
        return self.call(bool, (value,), {}, BOOL)

    def length(self, value: StagedObject) -> Any:
        return self.call(len, (value,), {}, INT)

    def to_int(self, value: StagedObject) -> Any:
        return wrap(context().host("int", (value.operand,), INT), INT, True, value.origins)

    def to_float(self, value: StagedObject) -> Any:
        return self.call(float, (value,), {}, FLOAT)

    def is_(self, left: Any, right: Any) -> Any:
        return self.call(operator.is_, (left, right), {}, BOOL)

    def _operand(self, value: Any) -> Operand:
        if value is None or isinstance(value, (bool, int, float, str, bytes, StagedNumber, StagedStr, StagedObject)):
            return operand_of(value)  # type: ignore[no-any-return]
        if isinstance(value, HostList):
            return value.operand  # type: ignore[no-any-return]
        if type(value) is tuple:
            made = context().host("python_call", (self.host_list(value),), OBJECT, (("builtins:tuple",),))
            return made  # type: ignore[no-any-return]
        if type(value) is list:
            return self.host_list(value)
        raise Unsupported("TC160", f"a {type(value).__name__} handed to a function that the host program calls")

    def host_list(self, values: Any) -> Operand:
        """A list of the program as a list of the host. Raises Unsupported TC160 for different kinds of elements."""
        recorder = self._machine.recorder
        if not recorder.is_symbolic:
            return [self._operand(v) for v in values]  # type: ignore[return-value]
        fits, template = common_template(values)
        if not fits:
            raise Unsupported("TC160", "a list of different kinds handed to a function that the host program calls")
        return list_operand(recorder, values, template, self._machine.calls.lists.make)


def _is_one_of(function: Any, functions: frozenset[Any]) -> bool:
    return any(function is f for f in functions)


def _path_of(function: Any) -> tuple[str, str]:
    """The module and the name that ``function`` can be imported by."""
    module = getattr(function, "__module__", None) or ""
    return _ALIASES.get(module, module), getattr(function, "__qualname__", "")


def _found(module: str, name: str) -> Any:
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError):
        return None
    return found
