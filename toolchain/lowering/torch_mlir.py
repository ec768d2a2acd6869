"""Graph of ATen operations -> MLIR text in torch-mlir's torch dialect, which iree-compile reads.

Weights become named parameters, not arguments: the compiler may then pack and fold them when a module is loaded, and
one module serves any number of weight sets. They are called by ``parameter_key`` in the scope ``model``.
"""

from __future__ import annotations

import re

import torch
from torch_mlir import ir
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.extras.fx_importer import FxImporter

from runtime_py.format import parameter_key
from toolchain.diagnostics import LoweringError
from toolchain.lowering.iree import ENTRY, PARAMETER_SCOPE, MlirModule

# IREE's runtimes before 3.13 lose half of the 64-bit numbers that one function of a module passes to another
# (iree-org/iree issue 24929), and iree-compile makes two functions, one calling the other, of one in torch's types. So
# what takes numbers has builtin types, and is called by one of IREE's own functions, into which it is inlined.
_BODY = "body"
# Types of numbers -> the operation that makes one, and the type that it makes it of.
_NUMBERS = {"!torch.int": ("from_i64", "i64"), "!torch.float": ("from_f64", "f64")}


def import_graph(graph: torch.fx.GraphModule, *, weights: int, name: str) -> MlirModule:
    """Function ``@main`` in ``module @name``; the last ``weights`` placeholders of the graph become parameters.

    Raises LoweringError TC302 if torch-mlir does not know an operation or a type.
    """
    context = ir.Context()
    torch_dialect.register_dialect(context)
    # The dialects of IREE are not registered here; iree-compile verifies these operations.
    context.allow_unregistered_dialects = True
    importer = FxImporter(context=context)
    try:
        function = importer.import_stateless_graph(graph.graph, func_name=ENTRY)
    except (AssertionError, KeyError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        reason = (str(error).strip().splitlines() or ["no message"])[0]
        raise LoweringError("TC302", f"torch-mlir cannot import the graph: {type(error).__name__}: {reason}") from error
    module = importer.module
    with context, ir.Location.unknown():
        module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        _bind_weights(module.body, function, weights)
        if numbers := _takes_numbers(function):
            _use_builtin_types(function)
    asm = module.operation.get_asm
    text = asm(enable_debug_info=False)
    imported = MlirModule(text, _locations(text, asm(enable_debug_info=True, pretty_debug_info=True)))
    return _with_caller(imported, ir.TypeAttr(function.attributes["function_type"]).value) if numbers else imported


def _locations(text: str, located: str) -> tuple[str, ...]:
    # With locations, the same lines follow after a table of aliases; each ends in " file:line:column" or " [unknown]".
    lines = [line for line in located.splitlines() if not line.startswith("#loc")]
    found = []
    for plain, line in zip(text.splitlines(), lines, strict=False):
        match = re.fullmatch(r"\s*(.+:\d+):\d+", line[len(plain) :]) if line.startswith(plain) else None
        found.append(match.group(1) if match else "")
    return tuple(found)


def _bind_weights(module: ir.Block, function: ir.Operation, weights: int) -> None:
    block = function.regions[0].blocks[0]
    first = len(block.arguments) - weights
    for number in range(weights):
        argument = block.arguments[first + number]
        kind = _builtin_type(argument.type)
        _declare(module, number, kind)
        with ir.InsertionPoint(block.operations[number * 2] if number else block.operations[0]):
            symbol = {"global": ir.FlatSymbolRefAttr.get(f"w{number}")}
            load = ir.Operation.create("util.global.load", results=[kind], attributes=symbol)
            value = ir.Operation.create("torch_c.from_builtin_tensor", results=[argument.type], operands=[load.result])
        argument.replace_all_uses_with(value.result)
    for number in reversed(range(first, first + weights)):
        block.erase_argument(number)
    _retype(function, block)


def _takes_numbers(function: ir.Operation) -> bool:
    return any(str(argument.type) in _NUMBERS for argument in function.regions[0].blocks[0].arguments)


def _use_builtin_types(function: ir.Operation) -> None:
    block = function.regions[0].blocks[0]
    _builtin_arguments(block)
    _builtin_results(block)
    # The attribute tells iree-compile's conversion of functions to leave this one alone.
    function.attributes["iree.abi.stub"] = ir.UnitAttr.get()
    function.attributes["sym_name"] = ir.StringAttr.get(_BODY)
    function.attributes["sym_visibility"] = ir.StringAttr.get("private")
    _retype(function, block)


def _builtin_arguments(block: ir.Block) -> None:
    count = len(block.arguments)
    first = ir.InsertionPoint(block.operations[0])
    for argument in list(block.arguments):
        name, kind = _NUMBERS.get(str(argument.type)) or ("from_builtin_tensor", str(_builtin_type(argument.type)))
        replacement = block.add_argument(ir.Type.parse(kind), ir.Location.unknown())
        with first:
            value = ir.Operation.create(f"torch_c.{name}", results=[argument.type], operands=[replacement])
        argument.replace_all_uses_with(value.result)
    for _ in range(count):
        block.erase_argument(0)


def _builtin_results(block: ir.Block) -> None:
    end = _terminator(block)
    for number, result in enumerate(list(end.operands)):
        kinds = [_builtin_type(result.type)]
        with ir.InsertionPoint(end):
            value = ir.Operation.create("torch_c.to_builtin_tensor", results=kinds, operands=[result])
        end.operands[number] = value.result


def _terminator(block: ir.Block) -> ir.Operation:
    return block.operations[len(block.operations) - 1].operation


def _declare(module: ir.Block, number: int, kind: ir.Type) -> None:
    parameter = f'"{PARAMETER_SCOPE}"::"{parameter_key(number)}"'
    attributes = {
        "sym_name": ir.StringAttr.get(f"w{number}"),
        "sym_visibility": ir.StringAttr.get("private"),
        "type": ir.TypeAttr.get(kind),
        "initial_value": ir.Attribute.parse(f"#flow.parameter.named<{parameter}> : {kind}"),
    }
    with ir.InsertionPoint.at_block_begin(module):
        ir.Operation.create("util.global", attributes=attributes)


def _retype(function: ir.Operation, block: ir.Block) -> None:
    inputs, results = ([value.type for value in values] for values in (block.arguments, _terminator(block).operands))
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def _with_caller(module: MlirModule, body: ir.Type) -> MlirModule:
    """``module`` with the function that hosts call, which only calls the body and has it inlined.

    It is text since the dialect of IREE's own functions is not registered here.
    """
    kind = ir.FunctionType(body)
    arguments = [f"%arg{number}" for number in range(len(kind.inputs))]
    declared = ", ".join(f"{name}: {type_}" for name, type_ in zip(arguments, kind.inputs, strict=True))
    results = ", ".join(map(str, kind.results))
    returned = ", ".join(f"%results#{number}" for number in range(len(kind.results)))
    caller = (
        f"  util.func public @{ENTRY}({declared}) -> ({results}) {{",
        f"    %results:{len(kind.results)} = func.call @{_BODY}({', '.join(arguments)}) : {kind}",
        f"    util.return {returned} : {results}",
        "  }",
    )
    head, *rest = module.text.splitlines()
    first, *others = module.locations
    return MlirModule("\n".join((head, *caller, *rest)) + "\n", (first, *("" for _ in caller), *others))


def _builtin_type(kind: ir.Type) -> ir.Type:
    """``!torch.vtensor<[2,3],si64>`` -> ``tensor<2x3xi64>``: integers lose their sign, as IREE wants them."""
    match = re.fullmatch(r"!torch\.vtensor<\[([\d,?]*)\],(\w+)>", str(kind))
    if match is None:
        raise LoweringError("TC302", f"a tensor of type {kind} cannot be compiled", "only dense tensors can")
    dims, element = match.groups()
    element = re.sub(r"^[su]i", "i", element)
    return ir.Type.parse(f"tensor<{''.join(d + 'x' for d in dims.split(',') if d)}{element}>")
