"""The host operation that calls Python itself."""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Callable
from typing import Any

from runtime_py.errors import BundleError


def python_call(*operands: Any, function: tuple[str, ...]) -> Any:
    """Calls ``function[0]`` ("module:qualified.name"); the last operands go by the keywords that follow it.

    Raises ``BundleError`` RT106 if there is no such function, and what the function raises.
    """
    name, *keywords = function
    positional = len(operands) - len(keywords)
    named = dict(zip(keywords, operands[positional:], strict=True))
    return _resolve(name)(*operands[:positional], **named)


@functools.cache
def _resolve(name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    try:
        found: Callable[..., Any] = operator.attrgetter(path)(importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise BundleError("RT106", f"the host program calls {name}, which is not here ({error})") from error
    return found
