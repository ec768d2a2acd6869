"""The registry of error codes. A code, once released, keeps its meaning.

``python -m toolchain.diagnostics.codes`` prints docs/errors.md; a test keeps page, registry and code in step.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType


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


@dataclass(frozen=True, slots=True)
class Family:
    """Codes with a common prefix.

    raised: which exception carries them, and the command line's exit code.
    """

    prefix: str
    title: str
    raised: str


FAMILIES = (
    Family("TC1", "Model not supported", "`UnsupportedModelError`, exit code 3; it carries all problems of a model."),
    Family("TC2", "Usage", "`UsageError`, exit code 2."),
    Family("TC3", "Lowering", "`LoweringError`, exit code 1."),
    Family("TC4", "Environment", "`ToolEnvironmentError`, exit code 5."),
    Family("TC5", "Verification", "`VerificationError`, exit code 4."),
    Family("RT1", "Bundle", "`BundleError`, a `runtime_py.SessionError`; exit code 1."),
    Family("RT2", "Inputs", "`InputError`, a `runtime_py.SessionError`; exit code 2."),
    Family("RT3", "Device and execution", "`DeviceError`, a `runtime_py.SessionError`; exit code 1."),
)

_EXAMPLES = Path(__file__).parent / "examples"
_REPORT = "This is a limit of the toolchain, not of the model: please report it with the model."
_REINSTALL = "Install the package again, with the versions of constraints.txt."
_REBUILD = "Copy the bundle again, or build it again."

_MODEL = (
    Code(
        "TC101",
        "too many paths",
        "Exploring took more blocks than the budget allows: paths that meet in states which cannot be merged multiply.",
        "Make values the same on all paths, or give `BuildOptions(budget=...)` a larger number.",
    ),
    Code(
        "TC110",
        "not deterministic",
        "The program uses something that differs in every run, such as the time or Python's random numbers.",
        "Compute it outside of the model and pass it in.",
    ),
    Code(
        "TC120",
        "operation on a staged value",
        "The program does something with a value of run time that the host cannot do, such as handing it to native "
        "code that needs a concrete number.",
        "Follow the hint of the message; often a tensor operation does the same.",
    ),
    Code(
        "TC121",
        "constant needed",
        "A number that is only known at run time is used where a constant must stand.",
        "Compute it from constants, or use it as a size, an index or an operand of tensor operations.",
    ),
    Code(
        "TC122",
        "run-time index into a long sequence",
        "A Python sequence or dict with many elements is indexed by a number that is only known at run time; each "
        "element would become a path of its own.",
        "Stack the elements into a tensor and index that.",
    ),
    Code(
        "TC123",
        "text of a tensor",
        "A whole tensor, or a container of values of run time, is printed or formatted.",
        "Format single elements, by `item()` or `tolist()`.",
    ),
    Code(
        "TC124",
        "search in a list of unknown length",
        "`in` with tensors and a list whose length is only known at run time, which does not keep identities.",
        "Keep a tensor or a flag beside the list.",
    ),
    Code("TC131", "size expression", "A size is computed in a way that the host has no operation for.", _REPORT),
    Code("TC132", "unknown size", "PyTorch asks about a size that has no value at run time.", _REPORT),
    Code(
        "TC133",
        "hidden tensor",
        "A tensor came out of native code that PyTorch's dispatcher did not see, so nothing is known of its making.",
        "Use operations that are registered with PyTorch.",
    ),
    Code("TC134", "optional result", "An operation leaves out one of its results.", _REPORT),
    Code(
        "TC135",
        "complex number",
        "A complex number is read out of a tensor; hosts have no complex numbers.",
        "Read the real and the imaginary part.",
    ),
    Code(
        "TC136",
        "shape depends on elements",
        "The shape of an operation's result depends on elements of a tensor in a way that cannot be staged.",
        "Replace it by operations whose shape is known, or by `nonzero()` and indexing.",
    ),
    Code(
        "TC140",
        "random numbers",
        "An operation draws random numbers. The device's generator is not PyTorch's, so results would differ.",
        "Draw outside of the model and pass the numbers in.",
    ),
    Code(
        "TC141",
        "shape changed in place",
        "A method changes the shape of a tensor in place.",
        "Use the method without the trailing underscore.",
    ),
    Code(
        "TC142",
        "in-place operation",
        "An operation changes tensors in place in a way that has no functional form.",
        "Use the operation without the trailing underscore.",
    ),
    Code(
        "TC143",
        "shared memory changed",
        "A tensor is changed in place while it shares memory with another one that existed before the call.",
        "Clone the tensor first.",
    ),
    Code(
        "TC144",
        "view changed",
        "A tensor is changed through a view whose effect on its base cannot be expressed.",
        "Write to the base tensor, or clone first.",
    ),
    Code(
        "TC145",
        "tensor attribute assigned",
        "The program assigns to an attribute of a tensor, such as `data`.",
        "Use `copy_()`, or make a new tensor.",
    ),
    Code(
        "TC146",
        "list element changed",
        "A tensor is changed in place while it is also in a list whose length is only known at run time.",
        "Append a clone.",
    ),
    Code(
        "TC150",
        "deep recursion",
        "The depth of a recursion depends on data, or exceeds the limit.",
        "Use a loop with an explicit stack.",
    ),
    Code(
        "TC151",
        "Python feature",
        "The program uses a feature of Python that the front end does not interpret, such as async code.",
        "Write it with plain statements.",
    ),
    Code(
        "TC152",
        "generator for PyTorch",
        "A generator is given to a function of PyTorch, which demands a list or a tuple.",
        "Make it a list first.",
    ),
    Code(
        "TC153",
        "endless iterator",
        "An iterator of native code has too many elements to be unrolled.",
        "Iterate over a range, or use `while`.",
    ),
    Code(
        "TC154",
        "generator closed early",
        "A generator is closed while it is inside of a `try` or `with` statement.",
        "Let the generator run to its end, or move the statement out of it.",
    ),
    Code(
        "TC155",
        "object constructed",
        "An object of this class cannot be made at this place of a staged program.",
        "Make it before the call, or use a tuple, a dict or a dataclass.",
    ),
    Code(
        "TC160",
        "native code",
        "Native code, or the outside world, is called with values that are only known at run time.",
        "Use PyTorch operations, or make the function a host call: `toolchain.host_call`.",
    ),
    Code(
        "TC161",
        "NumPy on tensor data",
        "A NumPy function, or `Tensor.numpy()`, is used on data that is only known at run time.",
        "Use the PyTorch function of the same meaning.",
    ),
    Code(
        "TC162",
        "not available",
        "A function that makes no sense in a staged program is called, such as one that inspects the interpreter.",
        "Follow the hint of the message.",
    ),
    Code(
        "TC163",
        "result of a host call",
        "What a host call gives is neither declared nor known from an example.",
        "Declare it with `toolchain.host_call(result=...)`, or add an example that makes the call.",
    ),
    Code(
        "TC164",
        "host call",
        "A host call gets something that cannot be handed to it, or has the name of another function.",
        "Hand it tensors, numbers, strings and lists of them; give functions distinct names.",
    ),
    Code(
        "TC165",
        "call of the host in a try statement",
        "A host call, or a function of Python that the host calls, stands where the program would see what it raises.",
        "Make the call outside of the `try` or `with` statement.",
    ),
    Code(
        "TC170",
        "result",
        "The result holds something that cannot leave a compiled program.",
        "Return tensors, Python values and containers of them.",
    ),
    Code(
        "TC171",
        "not in the VM host",
        "The program does something that IREE's VM cannot express, such as printing or keeping text.",
        "Build for another host, or follow the hint of the message.",
    ),
    Code(
        "TC172",
        "not in the C++ host",
        "The program calls a function of Python, which only the Python host can do.",
        "Build for the Python host, or compute the same with tensors and numbers.",
    ),
)

_USAGE = (
    Code(
        "TC200",
        "command line",
        "The command line itself is wrong: an unknown verb or option, or a missing argument.",
        "See `toolchain --help` and `toolchain VERB --help`.",
    ),
    Code(
        "TC210",
        "argument of an example",
        "An example has an argument that cannot be passed to a bundle.",
        "Pass tensors, Python values and containers of them.",
    ),
    Code(
        "TC211",
        "unknown target",
        "No target has this name. The compiler itself accepts any name and fails later, or not at all.",
        "Choose one of `toolchain targets`.",
    ),
    Code(
        "TC212",
        "cache folder",
        "The folder for compiled modules cannot be used.",
        "Make it writable, set `TOOLCHAIN_CACHE_DIR`, or give `--cache-dir`.",
    ),
    Code("TC213", "jobs", "The number of compilations at the same time is not positive.", "Give a number from 1."),
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
        'Write `hosts=("python",)`, or `--host python`.',
    ),
    Code(
        "TC224",
        "output path",
        "The bundle cannot be written there: something that is no bundle is in the way, or the folder is not writable.",
        "Choose a new path, or that of a bundle to be replaced.",
    ),
    Code(
        "TC225",
        "targets",
        "Targets are not a list of names, are named twice, or none is given.",
        'Write `targets=("cpu",)`, or `--target cpu`.',
    ),
    Code(
        "TC226",
        "nothing stored",
        "The bundle does not hold what is to be shown.",
        "Build it with `--debug`.",
    ),
    Code("TC227", "input file", "A file given as an input is not a NumPy array.", "Write it with `numpy.save`."),
    Code(
        "TC228",
        "host calls",
        "Something that is no function, has no name, or is declared wrongly is made a host call.",
        "Pass a function, give it a name, and declare what it gives with types and `toolchain.TensorType`.",
    ),
)

_LOWERING = (
    Code("TC301", "export", "A subgraph cannot be made into a graph of PyTorch operations.", _REPORT),
    Code(
        "TC302",
        "torch-mlir",
        "torch-mlir does not know an operation or a type of the subgraph.",
        "Write the operation with others, at the line that the message names.",
    ),
    Code(
        "TC303",
        "iree-compile refuses",
        "IREE's compiler refuses a subgraph.",
        "Write the operation with others, at the line that the message names.",
    ),
    Code(
        "TC304",
        "iree-compile takes too long",
        "IREE's compiler did not finish a subgraph within its time limit.",
        "Make the subgraph smaller.",
    ),
    Code(
        "TC305",
        "iree-compile crashes",
        "IREE's compiler died on a subgraph.",
        "Write the operation with others, at the line that the message names.",
    ),
    Code("TC306", "VM host", "The VM host program does not compile, or its modules cannot be bound.", _REPORT),
    Code(
        "TC307",
        "dtype that the target lacks",
        "An operation uses a dtype that no module for the target can hold, such as bfloat16 on Vulkan.",
        "Convert the tensor to float32 or float16, or leave the target out.",
    ),
    Code(
        "TC308",
        "ptxas refuses",
        "NVIDIA's assembler does not take a module's PTX for an architecture.",
        "Leave the target out, and report the message.",
    ),
)

_ENVIRONMENT = (
    Code(
        "TC401",
        "no compiler",
        "There is no `iree-compile`, or it does not run.",
        "Install iree-base-compiler, or name another one with `--iree-compile`.",
    ),
    Code(
        "TC411",
        "processor",
        "This machine's processor cannot be identified, so `cpu:host` means nothing here.",
        "Name a processor, as in `cpu:x86-64-v3`.",
    ),
    Code(
        "TC421",
        "Python version",
        "The front end interprets the bytecode of one CPython version, and this is another.",
        "Use CPython 3.11.",
    ),
    Code("TC422", "PyTorch", "PyTorch is missing or does not load.", _REINSTALL),
    Code("TC423", "torch-mlir", "torch-mlir is missing or does not load.", _REINSTALL),
    Code(
        "TC424",
        "IREE",
        "IREE's runtime is missing, does not load, or is of another release than the compiler. Compiled modules carry "
        "a bytecode and an ABI version, and the runtime's own message for a mismatch is obscure.",
        "Install compiler and runtime of one release, or run the bundles on a device whose runtime matches.",
    ),
    Code(
        "TC425",
        "no ptxas",
        "NVIDIA's assembler, which checks CUDA modules without a GPU, is not there. Building does not need it.",
        "Install the CUDA toolkit, or the package nvidia-cuda-nvcc-cu12.",
    ),
)

_VERIFICATION = (
    Code("TC510", "malformed program", "A program of the intermediate representation breaks its rules.", _REPORT),
    Code(
        "TC511",
        "out of fuel",
        "Running a program in the reference interpreter took more blocks than allowed.",
        "Raise the limit, or look for a loop that does not end.",
    ),
    Code(
        "TC521",
        "bundle disagrees with eager",
        "A new bundle did something else than eager PyTorch on an example that it was built with.",
        _REPORT,
    ),
)

_BUNDLE = (
    Code("RT101", "no manifest", "The folder is not a bundle: it has no manifest.", "Give the folder that was built."),
    Code("RT102", "malformed manifest", "The manifest, or what it describes, is not as it must be.", _REBUILD),
    Code(
        "RT103",
        "format version",
        "The bundle has a format that this runtime does not read.",
        "Use the runtime that came with the toolchain that built it.",
    ),
    Code("RT104", "file changed", "A file of the bundle is missing, or not what the manifest says.", _REBUILD),
    Code("RT105", "unsafe path", "A path of the bundle leads out of it.", _REBUILD),
    Code("RT106", "host program", "The bundle holds no usable Python host program.", "Build it with `--host python`."),
    Code(
        "RT107",
        "host call",
        "A function that the bundle calls is not there, or one is given that it does not call.",
        "Pass it: `runtime_py.load(..., host_calls={name: function})`; in C++ as a member of `HostCalls`.",
    ),
)

_INPUTS = (
    Code(
        "RT201",
        "structure",
        "The arguments are nested in a way that no example was.",
        "Call with the structure of an example, or build with another example.",
    ),
    Code("RT202", "kind or dtype", "An argument is of another kind or dtype than in the examples.", "Convert it."),
    Code(
        "RT203",
        "extent",
        "A tensor has another rank, or an extent outside of what was built.",
        "Build with examples whose dims differ, so that they become dynamic.",
    ),
    Code(
        "RT204",
        "unseen constant",
        "A Python value in the arguments is none of those that the examples have.",
        "Build with an example that has it, or mark it `toolchain.Dynamic`.",
    ),
    Code(
        "RT205",
        "argument cannot be updated",
        "The program changes an argument in place, and this one cannot be changed that way.",
        "Pass a writable tensor or array of the same shape and dtype.",
    ),
    Code("RT206", "value does not convert", "An argument cannot be handed to the device.", "Pass a tensor or array."),
)

_DEVICE = (
    Code(
        "RT301",
        "no target for this machine",
        "None of the bundle's targets runs here: another kind of device, or a processor that lacks features.",
        "Build for another target; `cpu:generic` runs on every x86-64 machine.",
    ),
    Code("RT302", "no device", "The device cannot be opened.", "Check its driver, or load another target."),
    Code(
        "RT303",
        "module rejected",
        "IREE's runtime does not take a module; most often compiler and runtime are of different releases.",
        "Install the runtime of the release that is named in the manifest.",
    ),
    Code("RT304", "execution failed", "A module or a host operation failed.", "See the message."),
    Code("RT305", "used after fork", "A session was made before a fork.", "Load the bundle in the child process."),
    Code("RT306", "session is closed", "The session was closed.", "Load the bundle again."),
    Code(
        "RT307",
        "integer overflow",
        "An integer of the host program left 64 bits; all hosts check this.",
        "Keep integers within 64 bits.",
    ),
    Code("RT308", "out of fuel", "A forced run made more decisions than allowed.", "Raise the limit."),
    Code(
        "RT309",
        "result of a host call",
        "A function that the bundle calls gave something else than it was built for.",
        "Declare what it gives with `toolchain.host_call(result=...)`, or build with an example of it.",
    ),
    Code(
        "RT310",
        "session in use",
        "A function that a bundle calls uses the session that calls it.",
        "Call another session from it: load the bundle once more, or clone the session before.",
    ),
)

_ALL = (*_MODEL, *_USAGE, *_LOWERING, *_ENVIRONMENT, *_VERIFICATION, *_BUNDLE, *_INPUTS, *_DEVICE)
CODES = MappingProxyType({code.code: code for code in _ALL})


def _example(code: str) -> list[str]:
    """A program that is refused with ``code``, and the same repaired."""
    path = _EXAMPLES / f"{code}.md"
    return ["", path.read_text().rstrip()] if path.exists() else []


def render_page() -> str:
    """The text of docs/errors.md, with the examples beside this file; a test runs them."""
    lines = [
        "# Errors",
        "",
        "Every error has a stable code. This page is made from the registry, `toolchain/diagnostics/codes.py`.",
    ]
    for family in FAMILIES:
        lines += ["", f"## {family.prefix}xx: {family.title}", "", family.raised]
        for code in _ALL:
            if code.code.startswith(family.prefix):
                lines += ["", f"### {code.code}: {code.title}", "", code.meaning, "", f"*What to do:* {code.remedy}"]
                lines += (
                    ["", example.read_text().rstrip()] if (example := _EXAMPLES / f"{code.code}.md").exists() else []
                )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(render_page(), end="")
