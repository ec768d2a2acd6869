"""Graph of ATen operations -> MLIR text in torch-mlir's torch dialect, which iree-compile reads.

Weights become named parameters, not arguments: the compiler may then pack and fold them when a module is loaded, and
one module serves any number of weight sets. They are called by ``parameter_key`` in the scope ``model``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch
from torch_mlir import ir
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.extras.fx_importer import FxImporter

from runtime_py.format import parameter_key
from toolchain.diagnostics import LoweringError
from toolchain.lowering.iree import ENTRY, PARAMETER_SCOPE, MlirModule


def import_graph(graph: torch.fx.GraphModule, *, weights: int, name: str) -> MlirModule:
    """``func.func @main`` in ``module @name``; the last ``weights`` placeholders of the graph become parameters.

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
    asm = module.operation.get_asm
    text = asm(enable_debug_info=False)
    return MlirModule(text, _locations(text, asm(enable_debug_info=True, pretty_debug_info=True)))


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
    _retype(function, [argument.type for argument in block.arguments])


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


def _retype(function: ir.Operation, inputs: Sequence[ir.Type]) -> None:
    results = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def _builtin_type(kind: ir.Type) -> ir.Type:
    """``!torch.vtensor<[2,3],si64>`` -> ``tensor<2x3xi64>``: integers lose their sign, as IREE wants them."""
    match = re.fullmatch(r"!torch\.vtensor<\[([\d,]*)\],(\w+)>", str(kind))
    if match is None:
        raise LoweringError("TC302", f"a weight of type {kind} cannot be compiled", "only dense tensors can")
    dims, element = match.groups()
    element = re.sub(r"^[su]i", "i", element)
    return ir.Type.parse(f"tensor<{''.join(d + 'x' for d in dims.split(',') if d)}{element}>")
