"""A subgraph as deterministic text: two subgraphs with the same text compile to the same executable.

Names, value numbers, source lines and the values of weights do not matter; types of inputs and the operations do.
"""

from __future__ import annotations

from toolchain.ir import Argument, Constant, Subgraph, TensorOp, Value


def canonical_text(subgraph: Subgraph) -> str:
    """One line for the inputs, one per operation, one for the results.

    Parameters are numbered first, then the results of each operation in order; weights are ``@w0``, ``@w1``, ... in the
    order of ``Subgraph.weights``.
    """
    names = {value: f"%{i}" for i, value in enumerate(subgraph.parameters)}
    weights = {weight: f"@w{i}" for i, weight in enumerate(subgraph.weights)}
    inputs = [f"{names[p]}: {p.type}" for p in subgraph.parameters]
    inputs += [f"{weights[w]}: {w.type}" for w in subgraph.weights]
    lines = [f"({', '.join(inputs)})"]
    for op in subgraph.operations:
        lines.append(_operation(op, names, weights))
    lines.append(f"return {', '.join(names[r] for r in subgraph.results)}")
    return "\n".join(lines) + "\n"


def _operation(op: TensorOp, names: dict[Value, str], weights: dict[Constant, str]) -> str:
    arguments = [_argument(a, names, weights) for a in op.args]
    arguments += [f"{key}={_argument(a, names, weights)}" for key, a in sorted(op.kwargs)]
    for result in op.results:
        names[result] = f"%{len(names)}"
    return f"{', '.join(names[r] for r in op.results)} = {op.target}({', '.join(arguments)})"


def _argument(arg: Argument, names: dict[Value, str], weights: dict[Constant, str]) -> str:
    if isinstance(arg, Value):
        return names[arg]
    if isinstance(arg, Constant):
        return weights[arg]
    if isinstance(arg, (tuple, list)):
        return "[" + ", ".join(_argument(a, names, weights) for a in arg) + "]"
    # repr tells 1 from 1.0 and True, and -0.0 from 0.0.
    return repr(arg)
