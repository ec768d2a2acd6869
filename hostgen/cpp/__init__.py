"""The C++ host: a class for the program over the header library in ``hostgen/cpp/include``.

``<name>.h`` and ``<name>.cpp`` hold the control flow. ``complete`` adds what is known only when everything else of the
bundle has been written: ``<name>_bundle.cpp``, a table of its files, and ``main.cpp``, which runs its recorded calls.

Control flow is structured as in the Python host. What can fail returns a ``Result``, unpacked by ``TOOLCHAIN_TRY`` and
``TOOLCHAIN_ASSIGN``, which return the error; nothing throws. The library is copied beside the program, so that a bundle
builds wherever there are CMake, a C++17 compiler and IREE's runtime.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from hostgen.cpp.contents import describe_contents
from hostgen.cpp.program import describe_program
from hostgen.cpp.recordings import describe_recordings
from hostgen.cpp.templates import render
from runtime_py.integrity import OpenBundle
from toolchain.diagnostics import Problem, UnsupportedModelError
from toolchain.ir import HostOp, Program

_INCLUDE = Path(__file__).parent / "include"


def generate(program: Program) -> Mapping[str, str]:
    """The host program: its class, how to build it, and the library that it needs.

    Raises ``UnsupportedModelError`` TC172 with every operation that only hosts in Python have.
    """
    _refuse_python(program)
    described = describe_program(program)
    name = described.name
    return {
        f"{name}.h": render("program.h.j2", p=described),
        f"{name}.cpp": render("program.cpp.j2", p=described),
        "CMakeLists.txt": render("CMakeLists.txt.j2", name=name),
        "CMakePresets.json": render("CMakePresets.json.j2", name=name),
        **{f"include/{path.relative_to(_INCLUDE)}": path.read_text() for path in sorted(_INCLUDE.rglob("*.h"))},
    }


def _refuse_python(program: Program) -> None:
    operations = (op for f in program.functions for block in f.blocks for op in block.operations)
    problems = [p for op in operations if isinstance(op, HostOp) for p in _problems(op)]
    if problems:
        raise UnsupportedModelError(list(dict.fromkeys(problems)))


def _problems(op: HostOp) -> Iterator[Problem]:
    hint = "build for the Python host, or compute the same with tensors and numbers"
    if op.opcode == "python_call":
        (target,) = op.attributes
        text = f"the C++ host cannot call {target[0]}"  # type: ignore[index]
        yield Problem("TC172", op.location.file, op.location.line, text, hint)


def complete(program: Program, bundle: OpenBundle) -> Mapping[str, str]:
    """The files that say what is in the bundle, which holds everything but its manifest and these."""
    described = describe_program(program)
    name = described.name
    contents = describe_contents(bundle.manifest, described.constants)
    return {
        f"{name}_bundle.cpp": render("bundle.cpp.j2", name=name, contents=contents),
        "main.cpp": render("main.cpp.j2", p=described, recordings=describe_recordings(bundle)),
    }


__all__ = ["complete", "generate"]
