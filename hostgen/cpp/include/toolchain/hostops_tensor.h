// Host operations between tensors and scalars.
#pragma once

#include <string>
#include <vector>

#include "toolchain/scalars.h"
#include "toolchain/tensor.h"

namespace toolchain::ops {

// The only element. T is bool, int64_t or double, as the dtype says. Fails with PyTorch's RuntimeError if there is not
// exactly one, else with RT304.
template <class T>
Result<T> item(const Tensor& tensor) {
  if (const size_t count = tensor.element_count(); count != 1) {
    return Error::raised("RuntimeError",
                         "a Tensor with " + std::to_string(count) + " elements cannot be converted to Scalar");
  }
  uint8_t bytes[8];
  TOOLCHAIN_TRY(tensor.read(bytes));
  return scalars::decode<T>(tensor.dtype(), bytes);
}

inline int64_t dim(const Tensor& tensor, size_t index) { return tensor.dim(index); }

// A tensor of the shape `dims` filled with `value` (bool, int64_t or double). Fails as `scalars::encode`, or with RT304.
template <class T>
Result<Tensor> full(const Device& device, T value, DType dtype, const Dims& dims) {
  const size_t size = size_of(dtype), count = count_elements(dims);
  std::vector<uint8_t> bytes(size * count);
  uint8_t element[8];
  TOOLCHAIN_TRY(scalars::encode(value, dtype, element));
  for (size_t i = 0; i < count; ++i) std::memcpy(bytes.data() + i * size, element, size);
  return tensors::upload(device, bytes.data(), dtype, dims);
}

}  // namespace toolchain::ops
