"""The second attempt at a module that iree-compile refuses: the same operations, none fused with another.

What the compiler fuses into one loop may fail on unknown extents: "no unbounded stack allocations", "buffer and tensor
shapes must be compatible", "restricted to workgroup distributed contexts". Alone, the same operations compile. The
price is a pass over memory per operation, so this is no first choice.
"""

from __future__ import annotations

import re

from toolchain.lowering.iree import MlirModule

# Operations that compute nothing may still melt into their users.
_FREE = r"(?:empty|expand|full|full_like|new_empty|permute|transpose|unsqueeze|view)[. ]"
_RESULT = re.compile(rf"\s+(%\w+) = torch\.(?:aten|prims)\.(?!{_FREE}).* -> !torch\.vtensor<\[([\d,?]*)\],(\w+)>")


def unfused(module: MlirModule) -> MlirModule:
    """``module`` with a barrier to the compiler's fusion after every operation with one tensor result."""
    lines: list[str] = []
    locations: list[str] = []
    renamed: dict[str, str] = {}
    for line, location in zip(module.text.splitlines(), module.locations, strict=True):
        line = re.sub(r"%[\w#]+", lambda match: renamed.get(match[0], match[0]), line)
        added = [line]
        if match := _RESULT.fullmatch(line):
            name, dims, element = match.groups()
            renamed[name] = f"%after{len(renamed)}"
            added += _barrier(name, renamed[name], dims.split(",") if dims else [], element)
        lines += added
        locations += [location] * len(added)
    return MlirModule("\n".join(lines) + "\n", tuple(locations))


def _barrier(value: str, after: str, dims: list[str], element: str) -> list[str]:
    outer = f"!torch.vtensor<[{','.join(dims)}],{element}>"
    # Integers lose their sign outside of the torch dialect.
    inner = f"tensor<{''.join(d + 'x' for d in dims)}{re.sub('^[su]i', 'i', element)}>"
    lines, extents = [f"{after}_in = torch_c.to_builtin_tensor {value} : {outer} -> {inner}"], []
    for number in (i for i, dim in enumerate(dims) if dim == "?"):
        extents.append(f"{after}_extent{number}")
        lines.append(f"{after}_dim{number} = arith.constant {number} : index")
        lines.append(f"{extents[-1]} = tensor.dim {after}_in, {after}_dim{number} : {inner}")
    shaped = inner + (f"{{{', '.join(extents)}}}" if extents else "")
    lines.append(f"{after}_start = iree_tensor_ext.compute_barrier.start {after}_in : {shaped} -> {inner}")
    lines.append(f"{after}_end = iree_tensor_ext.compute_barrier.end {after}_start : {shaped} -> {inner}")
    return [*lines, f"{after} = torch_c.from_builtin_tensor {after}_end : {inner} -> {outer}"]
