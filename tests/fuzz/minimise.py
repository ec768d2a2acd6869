"""Makes a failing program smaller while it fails in the same way: removes statements and simplifies expressions."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator

Fails = Callable[[str], bool]
_LITERALS = (ast.Constant, ast.Name)


def minimise(source: str, fails: Fails, seconds: float = 60.0) -> str:
    """The smallest program found in time for which ``fails`` holds; ``source`` itself is taken to fail."""
    deadline = time.monotonic() + seconds
    smallest = source
    found = True
    while found and time.monotonic() < deadline:
        found = False
        for edits in (_without_statements, _with_bodies, _with_parts):
            number = 0
            while (candidate := _edited(smallest, edits, number)) is not None and time.monotonic() < deadline:
                if candidate != smallest and len(candidate) <= len(smallest) and fails(candidate):
                    smallest, found = candidate, True  # what was behind it has the same number now
                else:
                    number += 1
    return smallest


Edit = Callable[[], None]


def _edited(source: str, edits: Callable[[ast.Module], Iterator[Edit]], number: int) -> str | None:
    """``source`` after edit ``number``; None if there are fewer."""
    tree = ast.parse(source)
    edit = next((e for n, e in enumerate(edits(tree)) if n == number), None)
    if edit is None:
        return None
    edit()
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every list of statements, outer ones first."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                yield body


def _without_statements(tree: ast.Module) -> Iterator[Edit]:
    """Halves, quarters, ... and single statements of a body removed, the last first; and calls, and other elements."""
    for body in _bodies(tree):
        size = len(body)
        while size:
            for start in range(len(body) - size, -1, -size):
                if not all(isinstance(s, ast.Pass) for s in body[start : start + size]):
                    yield lambda body=body, start=start, size=size: _remove(body, start, size)
            size //= 2
    for node in ast.walk(tree):
        for items in (getattr(node, "elts", None), getattr(node, "handlers", None)):
            for at in range(len(items) - 1, -1, -1) if isinstance(items, list) and len(items) > 1 else ():
                yield lambda items=items, at=at: items.pop(at)


def _remove(body: list[ast.stmt], start: int, size: int) -> None:
    del body[start : start + size]
    if not body:
        body.append(ast.Pass())


def _with_bodies(tree: ast.Module) -> Iterator[Edit]:
    """Statements replaced by what is in them."""
    for body in _bodies(tree):
        for at, statement in enumerate(body):
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                continue
            for name in ("body", "orelse"):
                inner = getattr(statement, name, None)
                if isinstance(inner, list) and inner:
                    yield lambda body=body, at=at, inner=inner: body.__setitem__(slice(at, at + 1), inner)
            for name in ("orelse", "finalbody"):
                if getattr(statement, name, None):
                    yield lambda statement=statement, name=name: setattr(statement, name, [])


def _with_parts(tree: ast.Module) -> Iterator[Edit]:
    """Expressions replaced by one of their operands, or by a constant."""
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and name not in ("target", "func", "annotation"):
                for part in _parts(value):
                    yield lambda node=node, name=name, part=part: setattr(node, name, part)
            elif isinstance(value, list) and name != "targets":
                for at, item in enumerate(value):
                    for part in _parts(item) if isinstance(item, ast.expr) else ():
                        yield lambda value=value, at=at, part=part: value.__setitem__(at, part)


def _parts(expression: ast.expr) -> Iterator[ast.expr]:
    if isinstance(expression, _LITERALS) or isinstance(getattr(expression, "ctx", None), (ast.Store, ast.Del)):
        return
    parts = [child for child in ast.walk(expression) if isinstance(child, ast.expr) and child is not expression]
    for part in parts[:12]:
        if not isinstance(getattr(part, "ctx", None), (ast.Store, ast.Del)):
            yield copy.deepcopy(part)
    for text in ("x", "True", "1", "torch.ones(3)"):
        if len(text) < len(ast.unparse(expression)):
            yield ast.parse(text, mode="eval").body
