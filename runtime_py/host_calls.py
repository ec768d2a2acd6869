"""Functions of the user's that a host program calls: found by name, called with arrays, and checked.

A function gets NumPy arrays that it cannot write to (of a tensor without dims a NumPy scalar), numbers, bools, strings,
None, and lists of these. It gives arrays or NumPy scalars, which become tensors, ints, floats, bools, strings, a tuple
of these, or None. The same rules hold in eager PyTorch (``toolchain.host_call``).
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime_py.arrays import convert, to_view
from runtime_py.device import Device
from runtime_py.dtypes import DTYPES
from runtime_py.errors import BundleError, DeviceError, HostOverflowError
from runtime_py.format import HostCall, ValueType

Form: TypeAlias = Literal["none", "one", "tuple"]
"""What a function gives: None, one value, or a tuple of values."""
MARK = "_toolchain_host_call"
"""The attribute of what eager PyTorch calls in the place of a function, or of what another decorator has made of it."""
ARRAY_DTYPES = {d.storage: d.name for d in DTYPES.values() if d.name != "bfloat16"}
"""What arrays can have, and PyTorch's name of it."""
_SCALARS = (bool, int, float, str)


class Kind(NamedTuple):
    """The kind of one value. name: the dtype of a tensor, or a scalar's type. dims: None of a scalar."""

    name: str
    dims: tuple[int | None, ...] | None = None

    def __str__(self) -> str:
        if self.dims is None:
            return self.name
        return f"{self.name}[{', '.join('?' if d is None else str(d) for d in self.dims)}]"

    def join(self, other: Kind) -> Kind | None:
        """The kind of values of either; None if there is none. Extents that differ are left open."""
        if self.dims is None or other.dims is None or len(self.dims) != len(other.dims):
            return self if self == other else None
        if self.name != other.name:
            return None
        return Kind(self.name, tuple(a if a == b else None for a, b in zip(self.dims, other.dims, strict=True)))


class Results(NamedTuple):
    """What a function gives, or has given: one kind for each value."""

    form: Form
    kinds: tuple[Kind, ...]

    def __str__(self) -> str:
        texts = list(map(str, self.kinds))
        return texts[0] if self.form == "one" else f"({', '.join(texts)})" if self.form == "tuple" else "None"

    def join(self, other: Results) -> Results | None:
        if (self.form, len(self.kinds)) != (other.form, len(other.kinds)):
            return None
        kinds = tuple(a.join(b) for a, b in zip(self.kinds, other.kinds, strict=True))
        return None if None in kinds else Results(self.form, kinds)  # type: ignore[arg-type]


def kind_of_type(type_: ValueType) -> Kind:
    return Kind(type_.dtype, type_.dims) if type_.kind == "tensor" else Kind(type_.kind)


def call(
    name: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    expected: Results | None = None,
) -> tuple[Results, tuple[Any, ...]]:
    """What one call gives: its kinds, and the values, tensors as arrays of their own.

    args, kwargs: nobody else sees the memory of arrays among them.
    Raises ``DeviceError`` RT309 for anything but what is ``expected`` (None: whatever a function may give),
    ``HostOverflowError`` RT307, and what the function raises itself.
    """
    found = function(*map(_argument, args), **{k: _argument(v) for k, v in kwargs.items()})
    form: Form = "none" if found is None else "tuple" if type(found) is tuple else "one"
    values = tuple(_value(name, v) for v in ((found,) if form == "one" else found or ()))
    given = Results(form, tuple(map(_kind, values)))
    if expected is not None and expected.join(given) != expected:
        hint = "declare it with toolchain.host_call(result=...), or build with an example that makes such a call"
        raise DeviceError("RT309", f"the host call {name} gave {given}, expected {expected}", hint)
    return given, values


def by_keyword(operands: Sequence[Any], keywords: Sequence[str]) -> tuple[Sequence[Any], dict[str, Any]]:
    """Positional and keyword arguments of operands of which the last have ``keywords``."""
    positional = len(operands) - len(keywords)
    return operands[:positional], dict(zip(keywords, operands[positional:], strict=True))


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value.flags.writeable = False  # what a function writes there would be seen in eager, and nowhere else
        return value if value.ndim else value[()]
    return [_argument(v) for v in value] if type(value) is list else value


def _value(name: str, value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype in ARRAY_DTYPES:
        return np.array(value, order="C")
    if type(value) not in _SCALARS:
        what = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__qualname__}"
        hint = "it may give NumPy arrays, ints, floats, bools, strings, a tuple of these, or None"
        raise DeviceError("RT309", f"the host call {name} gave {what}", hint)
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise HostOverflowError(f"integer overflow: what the host call {name} gave does not fit 64 bits")
    return value


def _kind(value: Any) -> Kind:
    if isinstance(value, np.ndarray):
        return Kind(ARRAY_DTYPES[value.dtype], value.shape)
    return Kind(type(value).__name__)


class HostCallee:
    """A function as the host program calls it: with buffer views and scalars in the place of arrays and scalars."""

    def __init__(self, described: HostCall, function: Callable[..., Any], device: Device) -> None:
        self._name = described.function
        self._keywords = described.keywords
        self._expected = Results(described.form, tuple(map(kind_of_type, described.results)))
        self._function = function
        self._device = device

    def __call__(self, *operands: Any) -> Any:
        """One result comes bare, several as tuple. Raises as ``call``."""
        args, kwargs = by_keyword([convert(o, self._device, "numpy") for o in operands], self._keywords)
        _, values = call(self._name, self._function, args, kwargs, self._expected)
        results = tuple(to_view(v, self._device, copy=False) if isinstance(v, np.ndarray) else v for v in values)
        return results[0] if len(results) == 1 else results


def find_all(needed: Sequence[HostCall], given: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The function of every name: one of those that are ``given``, or what can be imported by it.

    Raises ``BundleError`` RT107 for a name that leads to no function, and for a function that is not called.
    """
    names = {h.function for h in needed}
    if unknown := given.keys() - names:
        called = f"it calls {', '.join(sorted(names))}" if names else "it calls none"
        raise BundleError("RT107", f"the bundle does not call {min(unknown)}", called)
    return {name: find(name, given) for name in sorted(names)}


def find(name: str, given: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """The one of that name, or what can be imported as ``module:qualified.name``. Raises ``BundleError`` RT107."""
    found = given[name] if name in given else _imported(name)
    mark = getattr(found, MARK, None)
    return found if mark is None else mark.function


def _imported(name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    hint = f'pass it: runtime_py.load(..., host_calls={{"{name}": function}})'
    try:
        found = operator.attrgetter(path)(importlib.import_module(module))
    except Exception as error:  # whatever importing it runs into
        why = f"{type(error).__name__}: {error}"
        raise BundleError("RT107", f"the bundle calls {name}, which cannot be imported ({why})", hint) from error
    if not callable(found):
        raise BundleError("RT107", f"the bundle calls {name}, which is a {type(found).__name__}", hint)
    return found  # type: ignore[no-any-return]
