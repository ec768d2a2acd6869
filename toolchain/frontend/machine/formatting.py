"""Text that is made of tensors and staged scalars: formatting, printing, joining."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from toolchain.frontend import torch_adapter
from toolchain.frontend.context import Staged, context
from toolchain.frontend.machine.border import has_staged
from toolchain.frontend.signals import Unsupported
from toolchain.frontend.staged import Array, HostList, StagedStr, concat, wrap
from toolchain.ir import BOOL, INT, STR

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine


def format_value(m: Machine, value: Any, conversion: str, spec: Any) -> Any:
    if isinstance(value, torch.Tensor) and m.recorder.is_symbolic:
        if value.dim() or isinstance(value.numel(), torch.SymInt):
            folded = m.recorder.fold(m.recorder.value_of(value), value)
            if folded is None:
                raise Unsupported(
                    "TC123", "printing or formatting a whole tensor", "format its elements (item() or tolist()) instead"
                )
            value = folded
        elif conversion:
            value = tensor_text(m, value)
        else:
            value = m.recorder.read(value)
    if isinstance(value, Array):
        if conversion or not spec or spec[-1] not in "eEfFgGdn":  # NumPy prints the digits of the dtype
            raise Unsupported("TC123", "printing or formatting a NumPy value", "format float(value) or value.item()")
        value = m.recorder.read(value.tensor)
    if isinstance(value, StagedStr) and not spec and conversion in ("", "s"):
        return value
    if isinstance(value, BaseException) and has_staged(value.args) and not spec and conversion in ("", "s"):
        return exception_text(m, value)
    if isinstance(value, Staged):
        parts = ((0, conversion, spec),)
        operand = context().host("format", (value.operand,), STR, (parts,))
        return wrap(operand, STR, value.is_data, value.origins)
    if has_staged(value):
        return format_container(m, value, conversion, spec)
    if isinstance(value, torch.Tensor):
        with torch_adapter.real_mode():
            return format(_converted(value, conversion), spec)
    return format(_converted(value, conversion), spec)


def exception_text(m: Machine, exception: BaseException) -> Any:
    """``str(exception)`` with values of run time in it."""
    if type(exception).__str__ not in (BaseException.__str__, KeyError.__str__):
        raise Unsupported(
            "TC123", f"the text of a {type(exception).__name__} with values that are only known at run time"
        )
    args = exception.args
    if len(args) != 1:
        return format_value(m, args, "s", "")
    return format_value(m, args[0], "r" if isinstance(exception, KeyError) else "s", "")


def _converted(value: Any, conversion: str) -> Any:
    if not conversion:
        return value
    return str(value) if conversion == "s" else repr(value) if conversion == "r" else ascii(value)


def tensor_text(m: Machine, value: torch.Tensor) -> Any:
    """``str(tensor)`` of a 0-d tensor."""
    folded = m.recorder.fold(m.recorder.value_of(value), value)
    if folded is not None:
        with torch_adapter.real_mode():
            return str(folded)
    if value.is_floating_point():
        raise Unsupported("TC123", "formatting a float tensor", "format tensor.item() instead")
    return join_strings(["tensor(", format_value(m, m.recorder.read(value), "", ""), ")"])


def format_container(m: Machine, value: Any, conversion: str, spec: str) -> Any:
    """``str()`` of a list, tuple or dict with staged elements."""
    if spec or not isinstance(value, (tuple, list, dict, HostList)):
        raise Unsupported("TC123", f"formatting a {type(value).__name__} with values that are only known at run time")
    if isinstance(value, HostList):
        operand = context().host("repr", (value.operand,), STR)
        return wrap(operand, STR, True, value.origins)
    if isinstance(value, dict):
        pairs = [
            join_strings([format_value(m, k, "r", ""), ": ", format_value(m, v, "r", "")]) for k, v in value.items()
        ]
        return join_strings(["{", *_separated(pairs), "}"])
    items = [format_value(m, v, "r", "") for v in value]
    if isinstance(value, list):
        return join_strings(["[", *_separated(items), "]"])
    return join_strings(["(", *_separated(items), ",)" if len(items) == 1 else ")"])


def _separated(parts: list[Any]) -> list[Any]:
    out: list[Any] = []
    for n, part in enumerate(parts):
        out.extend((", ", part) if n else (part,))
    return out


def join_strings(parts: list[Any]) -> Any:
    if any(isinstance(p, StagedStr) for p in parts):
        return concat(*parts)
    return "".join(parts)


def percent_format(m: Machine, text: str, values: Any) -> Any:
    import re

    row = list(values) if isinstance(values, tuple) else [values]
    out: list[Any] = []
    at = 0
    for match in re.finditer(
        r"%(?P<flags>[-+ 0#]*)(?P<width>\d*)(?P<precision>\.\d+)?(?P<kind>[diouxXeEfFgGsr%])", text
    ):
        out.append(text[at : match.start()])
        at = match.end()
        if match["kind"] == "%":
            out.append("%")
            continue
        value = row.pop(0)
        if match["kind"] in "sr" and not (match["flags"] or match["width"]):
            out.append(format_value(m, value, match["kind"], ""))
        elif match["kind"] in "di" and not (match["flags"] or match["width"]):
            out.append(format_value(m, value, "", "d"))
        elif match["kind"] in "eEfFgG" and "-" not in match["flags"] and "#" not in match["flags"]:
            out.append(
                format_value(m, value, "", match["flags"] + match["width"] + (match["precision"] or "") + match["kind"])
            )
        else:
            raise Unsupported(
                "TC123", f"the format {match.group()} of a value that is only known at run time", "use an f-string"
            )
    out.append(text[at:])
    return join_strings(out)


__all__ = ["BOOL", "INT"]
