"""The registry of error codes. A code, once released, keeps its meaning.

``python -m toolchain.diagnostics.codes`` prints docs/errors.md; a test keeps page, registry and code in step.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of error.

    title:   a phrase, e.g. "unknown host".
    meaning: what is wrong, in a sentence or two.
    remedy:  what to do about it.
    """

    code: str
    title: str
    meaning: str
    remedy: str


FAMILIES = (
    ("TC1", "Model not supported", "`UnsupportedModelError`, exit code 3. All problems of a model come in one error."),
    ("TC2", "Usage", "`UsageError`, exit code 2."),
    ("TC3", "Lowering", "`LoweringError`, exit code 1."),
    ("TC4", "Environment", "`ToolEnvironmentError`, exit code 5."),
    ("TC5", "Verification", "`VerificationError`, exit code 4."),
    ("RT1", "Bundle", "`runtime_py.SessionError` while a bundle is opened, exit code 1."),
    ("RT2", "Inputs", "`runtime_py.SessionError` for arguments that do not fit the bundle, exit code 2."),
    ("RT3", "Device and execution", "`runtime_py.SessionError` while a call runs, exit code 1."),
)

_ALL = (
    Code(
        "TC200",
        "command line",
        "The command line itself is wrong: an unknown verb or option, or a missing argument.",
        "See `toolchain --help` and `toolchain VERB --help`.",
    ),
    Code(
        "TC220",
        "model file",
        "The model file is missing, fails when imported, or lacks `model()` or `example_inputs()`.",
        "Define both functions at the top level of a file that can be imported on its own.",
    ),
    Code(
        "TC221",
        "examples",
        "Examples are neither a tuple of arguments, a `toolchain.Example`, nor a non-empty list of these.",
        "Write `(x,)` for a call with one argument and `[(x,), (y,)]` for two calls.",
    ),
    Code(
        "TC222",
        "module",
        "What is to be built cannot be called, or is a module in training mode.",
        "Pass an `nn.Module` after `.eval()`, or a function.",
    ),
    Code(
        "TC223",
        "hosts",
        "A host is unknown, named twice, or none is given.",
        'Choose from "python", "cpp" and "vm".',
    ),
    Code(
        "TC224",
        "output path",
        "The bundle cannot be written there: something that is no bundle is in the way, or the folder is not writable.",
        "Choose a new path, or that of a bundle to be replaced.",
    ),
    Code(
        "TC421",
        "Python version",
        "The front end interprets the bytecode of one CPython version, and this is another.",
        "Use CPython 3.11.",
    ),
    Code(
        "TC422",
        "PyTorch",
        "PyTorch is missing or does not load.",
        "Install the versions of constraints.txt.",
    ),
    Code(
        "TC423",
        "torch-mlir",
        "torch-mlir is missing or does not load.",
        "Install the versions of constraints.txt.",
    ),
    Code(
        "TC424",
        "IREE",
        "IREE's compiler or runtime is missing, does not load, or the two are of different releases. Compiled modules "
        "carry a bytecode and an ABI version, and the runtime's own message for a mismatch is obscure.",
        "Install iree-base-compiler and iree-base-runtime of the same release.",
    ),
)

CODES = {code.code: code for code in _ALL}


def render_page() -> str:
    """The text of docs/errors.md."""
    lines = [
        "# Errors",
        "",
        "Every error has a stable code. This page is made from the registry, `toolchain/diagnostics/codes.py`.",
    ]
    for prefix, title, what in FAMILIES:
        members = sorted((c for c in _ALL if c.code.startswith(prefix)), key=lambda c: c.code)
        lines += ["", f"## {prefix}xx: {title}", "", what]
        for code in members:
            lines += ["", f"### {code.code}: {code.title}", "", code.meaning, "", f"*What to do:* {code.remedy}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(render_page(), end="")
