"""``contextvars.ContextVar``: what the program sets them to is a part of the state of its path.

The values that it has set are in ``machine.context_values``, an ordinary dict of the world: it forks, merges and stays
between calls as every other one. Native code does not see them.
"""

from __future__ import annotations

import functools
from contextvars import ContextVar, Token
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolchain.frontend.machine.interpreter import Machine


def _get(variable: ContextVar[Any], m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    return m.context_values[variable] if variable in m.context_values else variable.get(*args)


def _set(variable: ContextVar[Any], m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    before = m.context_values.get(variable, Token.MISSING)
    m.context_values[variable] = args[0]
    return SimpleNamespace(var=variable, old_value=before, is_used=False)


def _reset(variable: ContextVar[Any], m: Machine, args: Any, kwargs: Any, mode: Any) -> Any:
    (token,) = args
    if token.var is not variable:
        raise ValueError(f"{token} was created by a different ContextVar")
    if token.is_used:
        raise RuntimeError(f"{token} has already been used once")
    token.is_used = True
    if token.old_value is Token.MISSING:
        del m.context_values[variable]
    else:
        m.context_values[variable] = token.old_value


_METHODS = {"get": _get, "set": _set, "reset": _reset}


def handler(function: Any) -> Any:
    """What a bound method of a context variable means, or None where ``function`` is none."""
    owner = getattr(function, "__self__", None)
    return functools.partial(_METHODS[function.__name__], owner) if isinstance(owner, ContextVar) else None
