"""The arguments of a convolution by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolchain.ir import Constant, TensorOp, TensorType, Value

TARGET = "aten.convolution.default"
Operand = Value | Constant


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution in single or double precision over the two dimensions of an image of known extents, not transposed.

    In half precision, sums that PyTorch keeps in single precision would lose digits if they were split up.

    input: N x C x H x W. weight: outside x C / groups x kernel height x kernel width. bias: outside, or None.
    """

    input: Operand
    weight: Operand
    bias: Operand | None
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    result: Value

    @property
    def channels(self) -> tuple[int, int]:
        """Of the input, and of the result."""
        return _dims(self.input)[1], _dims(self.result)[1]

    @property
    def kernel(self) -> tuple[int, int]:
        """Height and width."""
        return _dims(self.weight)[2], _dims(self.weight)[3]

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the result."""
        return _dims(self.result)[2], _dims(self.result)[3]


def as_convolution(op: TensorOp) -> Convolution | None:
    """``op`` as such a convolution, if it is one."""
    if op.target != TARGET or len(op.args) != 9:
        return None
    x, weight, bias, stride, padding, dilation, transposed, _, groups = op.args
    numbers = all(isinstance(number, int) for number in (*stride, *padding, *dilation))
    if transposed or not numbers or not all(map(_is_static_image, (x, weight, op.results[0]))):
        return None
    return Convolution(x, weight, bias, _pair(stride), _pair(padding), _pair(dilation), groups, op.results[0])


def _pair(numbers: Sequence[int]) -> tuple[int, int]:
    """One number stands for both dimensions."""
    return numbers[0], numbers[-1]


def _is_static_image(operand: Operand) -> bool:
    kind = operand.type
    return isinstance(kind, TensorType) and kind.is_static and kind.rank == 4 and kind.dtype in ("float32", "float64")


def _dims(operand: Operand) -> tuple[int, ...]:
    assert isinstance(operand.type, TensorType)
    return operand.type.dims  # type: ignore[return-value]
