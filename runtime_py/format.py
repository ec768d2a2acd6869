"""The manifest of a bundle: what ``manifest.json`` holds, one dataclass per object.

This is the only definition: the writer encodes these classes, the loader decodes them strictly (``runtime_py.decode``)
and the JSON schema is derived from them. All paths are relative POSIX paths inside the bundle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FORMAT_VERSION = 1
MANIFEST = "manifest.json"


def parameter_key(index: int) -> str:
    """The key under which a module asks for its ``index``-th weight, in scope "model".

    It is as long as the keys of the weight archive, hashes in hexadecimal, so that they can take its place in a file.
    """
    return f"w{index:063}"


@dataclass(frozen=True, slots=True)
class File:
    """A file of the bundle.

    path:   where it is.
    size:   its length in bytes.
    sha256: its hash, in hexadecimal.
    """

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """One compiled module for one target.

    path, size, sha256: as in ``File``.
    flags:              what a machine needs to run it: CPU flags as /proc/cpuinfo spells them; of CUDA the architecture
                        ("sm_87": a device of compute capability 8.7 or later has it); of Vulkan features of the device
                        as IREE's runtime reports them ("shaderInt8").
    """

    path: str
    size: int
    sha256: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Versions:
    """What made the bundle; compiler and device runtime must match in ``iree``."""

    toolchain: str
    torch: str
    torch_mlir: str
    iree: str


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the user's source.

    file:     name without its folders.
    line:     1-based.
    function: the enclosing function.
    """

    file: str
    line: int
    function: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """A Python constant, exactly.

    kind:  its type.
    text:  its ``repr`` ("nan", "inf" and 17-digit floats included); the text itself for str.
    items: the elements of a tuple.
    """

    kind: Literal["none", "bool", "int", "float", "str", "tuple"]
    text: str = ""
    items: tuple[Constant, ...] = ()


@dataclass(frozen=True, slots=True)
class Tree:
    """A node of a pytree.

    kind:      "leaf" stands for the next input (or recorded array); "literal" for a constant; the rest for containers.
    items:     the children, in order.
    keys:      of a dict, in the order of ``items``.
    literal:   the constant of a "literal".
    file:      of a recorded array: its .npy file, beside the JSON file that holds the tree.
    dtype:     of a recorded array: PyTorch's name (bfloat16 is stored as its 16 bits).
    cls:       of an object: ``module:qualname`` of its class.
    fields:    of an object: attribute names, in the order of ``items``.
    """

    kind: Literal["leaf", "literal", "tuple", "list", "set", "size", "dict", "namedtuple", "dataclass", "plain"]
    items: tuple[Tree, ...] = ()
    keys: tuple[Constant, ...] = ()
    literal: Constant | None = None
    file: str = ""
    dtype: str = ""
    cls: str = ""
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dim:
    """The extents that one dimension may have.

    size:    the only one, if set.
    minimum: the least otherwise.
    maximum: the greatest otherwise; None means no bound.
    """

    size: int | None
    minimum: int = 0
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """One leaf of an entry's arguments.

    name:  the user's name for it.
    kind:  "tensor", or the type of a Python scalar.
    dtype: of a tensor: PyTorch's name.
    dims:  of a tensor: one per dimension.
    """

    name: str
    kind: Literal["tensor", "int", "float", "bool", "str"]
    dtype: str = ""
    dims: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One shape of call.

    name:      unique in the bundle.
    signature: a tuple of the positional arguments (a tuple) and the keyword arguments (a dict).
    inputs:    the leaves of ``signature``, in order.
    """

    name: str
    signature: Tree
    inputs: tuple[Input, ...]


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of a value that the host program holds.

    kind:     "tensor", a scalar's type, a container, or "none" for None itself.
    dtype:    of a tensor.
    dims:     of a tensor; None where only known at run time.
    elements: of a tuple; of a list one, or none if it is always empty.
    """

    kind: Literal["tensor", "int", "float", "bool", "str", "list", "tuple", "none"]
    dtype: str = ""
    dims: tuple[int | None, ...] = ()
    elements: tuple[ValueType, ...] = ()


@dataclass(frozen=True, slots=True)
class HostCall:
    """A function of the user's that the host program calls, as one or several places call it.

    function:   "module:qualified.name", or the name that the user gave it.
    form:       whether it gives None, one value, or a tuple of values.
    parameters: what it gets; extents of tensors are open.
    keywords:   the names of the last parameters.
    results:    what it has to give.
    """

    function: str
    form: Literal["none", "one", "tuple"]
    parameters: tuple[ValueType, ...]
    keywords: tuple[str, ...]
    results: tuple[ValueType, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """A buffer or attribute that calls change.

    name: its path from the module, e.g. "layer.cache".
    type: what it holds.
    """

    name: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute with one fixed value in a state."""

    name: str
    value: Constant


@dataclass(frozen=True, slots=True)
class State:
    """What calls may leave behind.

    slots:      what varies, one value each.
    attributes: what is fixed in this state but differs between states.
    """

    slots: tuple[Slot, ...] = ()
    attributes: tuple[Attribute, ...] = ()


@dataclass(frozen=True, slots=True)
class InitialValue:
    """The first value of a slot: the weight of that name, or a literal."""

    weight: str | None = None
    literal: Constant | None = None


@dataclass(frozen=True, slots=True)
class Module:
    """A compiled subgraph.

    id:         unique; also the stem of its files.
    function:   the exported function to call.
    places:     source lines that it computes.
    parameters: how each operand is passed.
    results:    types of the results, all tensors.
    files:      target name to file.
    """

    id: str
    function: str
    places: tuple[Place, ...]
    parameters: tuple[Literal["tensor", "i64", "f64"], ...]
    results: tuple[ValueType, ...]
    files: dict[str, ModuleFile]


@dataclass(frozen=True, slots=True)
class Instance:
    """A module with its weights bound; hosts call it by its position in ``Manifest.instances``.

    module:  ``Module.id``.
    weights: names of weights, one for each ``parameter_key`` of the module in scope "model".
    """

    module: str
    weights: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Weight:
    """A constant tensor in the archive.

    name:           its path from the module.
    dtype, shape:   PyTorch's name of the dtype, extents.
    offset, length: its bytes in the archive file; tensors of equal content share them.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Params:
    """The weight archive (IREE's .irpa format).

    path, size, sha256: as in ``File``.
    weights:            what it holds.
    """

    path: str
    size: int
    sha256: str
    weights: tuple[Weight, ...]


@dataclass(frozen=True, slots=True)
class BlockSummary:
    """A block of the control-flow graph.

    id:           unique in its function; decisions are named by it.
    place:        the user's line.
    is_loop_head: some edge comes back to it.
    terminator:   how it ends.
    kind:         of a branch: "data" (can be forced) or "size".
    edges:        target blocks; of a branch: where true, where false.
    calls:        instances that it runs, in order.
    """

    id: int
    place: Place
    is_loop_head: bool
    terminator: Literal["jump", "branch", "return", "raise"]
    kind: Literal["", "data", "size"] = ""
    edges: tuple[int, ...] = ()
    calls: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionSummary:
    """The control-flow graph of one entry in one state; the first block is the entry block."""

    name: str
    entry: int
    state: int
    blocks: tuple[BlockSummary, ...]


@dataclass(frozen=True, slots=True)
class Host:
    """An emitted host program.

    name:  "python", "cpp" or "vm".
    files: paths of its files.
    lines: lines of its source text.
    """

    name: str
    files: tuple[str, ...]
    lines: int


@dataclass(frozen=True, slots=True)
class RecordedTest:
    """Recorded calls, to be made in order from the initial state.

    name:  unique in the bundle.
    path:  the JSON file with a ``Recording``.
    """

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One recorded call.

    arguments: tuple of the positional arguments and the dict of the keyword arguments.
    after:     the same after the call, if it changed one of them in place; else None.
    result:    what it returned; None if it raised.
    exception: name of the built-in exception type that it raised, or "".
    text:      what the exception says.
    printed:   what it wrote to standard output.
    """

    arguments: Tree
    result: Tree | None
    exception: str = ""
    text: str = ""
    printed: str = ""
    after: Tree | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """What a test's JSON file holds."""

    calls: tuple[RecordedCall, ...]


@dataclass(frozen=True, slots=True)
class VmShape:
    """One structure of the VM host's results.

    tree:    the structure.
    columns: for each leaf of ``tree``, which of the results holds it.
    types:   of the leaves.
    """

    tree: Tree
    columns: tuple[int, ...] = ()
    types: tuple[ValueType, ...] = ()


@dataclass(frozen=True, slots=True)
class VmResult:
    """What a function of the VM host returns, in its reflection attribute ``signature``.

    shapes:  if there are several, result 0 says which it is, and columns count from the next.
    mutated: indices of the inputs that are changed in place; their new values are the last results.
    """

    shapes: tuple[VmShape, ...]
    mutated: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything about a bundle.

    format_version: ``FORMAT_VERSION`` of the writer.
    digest:         sha256 of the manifest's own text with these 64 digits replaced by zeros.
    name:           of the program.
    versions:       what made it.
    targets:        all target names, in the order of the build.
    entries:        accepted calls.
    states:         what calls leave behind; the first one is the state after loading.
    initial_state:  first values of the slots of ``states[0]``.
    modules:        compiled subgraphs.
    instances:      modules with weights, in the order in which hosts number them.
    params:         the weights; None if there are none.
    functions:      the control-flow graphs.
    hosts:          emitted host programs.
    tests:          recorded calls.
    files:          every file that is neither a module, nor the weights, nor the manifest.
    host_calls:     functions that the program calls, in the order in which hosts number them.
    """

    format_version: int
    digest: str
    name: str
    versions: Versions
    targets: tuple[str, ...]
    entries: tuple[Entry, ...]
    states: tuple[State, ...]
    initial_state: tuple[InitialValue, ...]
    modules: tuple[Module, ...]
    instances: tuple[Instance, ...]
    params: Params | None
    functions: tuple[FunctionSummary, ...]
    hosts: tuple[Host, ...]
    tests: tuple[RecordedTest, ...]
    files: tuple[File, ...]
    host_calls: tuple[HostCall, ...] = ()
