"""Looking for a value in a list or tuple: ``in``, ``index``, ``count`` and ``remove``.

Python takes an element for the one that is looked for if it is the same object or equal to it. Of numbers, and of
tensors without dims, equality is all that can be staged; it misses NaN alone, which is refused when it happens.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend.machine import polyfills
from toolchain.frontend.machine.border import has_staged
from toolchain.frontend.machine.frame import ReturnMode
from toolchain.frontend.numbers import StagedFloat
from toolchain.frontend.signals import Unsupported
from toolchain.frontend.staged import HostList
from toolchain.ir import FLOAT, ScalarType, TensorType

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine

_NAN = "NaN is looked for in a list, which depends on what object it is; that path is not compiled"
_SEARCHES = {
    "index": polyfills.index_,
    "count": polyfills.count_,
    "remove": polyfills.remove_,
    "contains": polyfills.contains_element_,
}


def needs_machine(items: Any, value: Any) -> bool:
    """Whether looking for ``value`` compares values of run time."""
    tensors = not isinstance(items, HostList) and any(isinstance(v, torch.Tensor) for v in (value, *items))
    return tensors or has_staged(value) or has_staged(items)


def search(m: Machine, name: str, items: Any, args: tuple[Any, ...], mode: ReturnMode) -> Any:
    """Pushes ``items.<name>(*args)``."""
    value = args[0]
    by_identity = isinstance(value, torch.Tensor) and value.dim() > 0
    if isinstance(items, HostList):
        _refuse_compound(items, by_identity)
    if not by_identity:
        guard_nan(m, items, value)
    return m.calls.call(_SEARCHES[name], (items, *args), {"by_identity": by_identity}, mode)


def guard_nan(m: Machine, items: Any, value: Any) -> None:
    """NaN equals no element, but may be one."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        value = m.recorder.read(value)
    if isinstance(value, StagedFloat) and _may_hold_nan(items):
        m.recorder.require_staged_value(value == value, NotImplementedError, _NAN)


def _may_hold_nan(items: Any) -> bool:
    if isinstance(items, HostList):
        return items.template is not None and (FLOAT in items.template.parts or _is_tensor(items.template.parts[0]))
    return any(isinstance(x, (StagedFloat, torch.Tensor)) or (isinstance(x, float) and math.isnan(x)) for x in items)


def _is_tensor(part: Any) -> bool:
    return isinstance(part, TensorType)


def _refuse_compound(items: HostList, by_identity: bool) -> None:
    """A list of unknown length holds contents: which objects its elements are is lost."""
    template = items.template
    if template is None:
        return
    part = template.parts[0]
    is_number = isinstance(part, ScalarType) or (isinstance(part, TensorType) and not part.rank)
    if template.arity or by_identity or not is_number:
        raise Unsupported(
            "TC124", "looking for a tensor, list or tuple in a list of unknown length", "keep a flag beside the list"
        )
