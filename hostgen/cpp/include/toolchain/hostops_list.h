// Host operations on lists. All are functional: they take a list by value and give another one; pass it with std::move
// where it is not needed any more, and nothing is copied.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "toolchain/hostops_tensor.h"

namespace toolchain {

// A Python list. Elements are Tensor, bool, int64_t, double, std::string, lists, or std::tuple of these.
template <class T>
using List = std::vector<T>;

// The element type of a list that is always empty.
struct None {};
using EmptyList = List<None>;

namespace ops {

namespace impl {

// A position as Python counts: negative ones from the end. None if it is outside.
inline std::optional<size_t> position(int64_t index, size_t size) {
  const auto length = static_cast<int64_t>(size);
  const int64_t at = index < 0 ? index + length : index;
  if (at < 0 || at >= length) return std::nullopt;
  return static_cast<size_t>(at);
}

// A bound of a slice, or where to insert: never outside.
inline ptrdiff_t clamped(int64_t index, size_t size) {
  const auto length = static_cast<int64_t>(size);
  return static_cast<ptrdiff_t>(std::clamp<int64_t>(index < 0 ? index + length : index, 0, length));
}

inline Error index_error(const char* text) { return Error::raised("IndexError", text); }

}  // namespace impl

template <class T>
int64_t list_len(const List<T>& values) { return static_cast<int64_t>(values.size()); }

template <class T>
Result<T> list_get(const List<T>& values, int64_t index) {
  const auto at = impl::position(index, values.size());
  if (!at) return impl::index_error("list index out of range");
  return T(values[*at]);
}

template <class T>
Result<List<T>> list_set(List<T> values, int64_t index, T element) {
  const auto at = impl::position(index, values.size());
  if (!at) return impl::index_error("list assignment index out of range");
  values[*at] = std::move(element);
  return values;
}

template <class T>
List<T> list_append(List<T> values, T element) {
  values.push_back(std::move(element));
  return values;
}

template <class T>
List<T> list_insert(List<T> values, int64_t index, T element) {
  values.insert(values.begin() + impl::clamped(index, values.size()), std::move(element));
  return values;
}

template <class T>
Result<List<T>> list_pop(List<T> values, int64_t index) {
  if (values.empty()) return impl::index_error("pop from empty list");
  const auto at = impl::position(index, values.size());
  if (!at) return impl::index_error("pop index out of range");
  values.erase(values.begin() + static_cast<ptrdiff_t>(*at));
  return values;
}

template <class T>
List<T> list_extend(List<T> values, const List<T>& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

template <class T>
List<T> list_slice(const List<T>& values, std::optional<int64_t> start, std::optional<int64_t> stop) {
  const ptrdiff_t first = impl::clamped(start.value_or(0), values.size());
  const ptrdiff_t last = stop ? impl::clamped(*stop, values.size()) : static_cast<ptrdiff_t>(values.size());
  if (first >= last) return {};
  return List<T>(values.begin() + first, values.begin() + last);
}

template <class T>
List<T> list_reverse(List<T> values) {
  std::reverse(values.begin(), values.end());
  return values;
}

namespace impl {

// "[2, 3]"
inline std::string shown(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

inline Error runtime_error(std::string text) { return Error::raised("RuntimeError", std::move(text)); }

inline Status same_dtype(const List<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.dtype() != tensors[0].dtype()) return Error("RT304", "tensors of different dtypes are put together");
  }
  return {};
}

}  // namespace impl

// A tensor with a new leading dimension. Fails with PyTorch's RuntimeError if the list is empty or shapes differ.
inline Result<Tensor> list_stack(const List<Tensor>& list) {
  if (list.empty()) return impl::runtime_error("stack expects a non-empty list of tensors");
  TOOLCHAIN_TRY(impl::same_dtype(list));
  Dims dims = list[0].dims();
  std::vector<uint8_t> bytes(list.size() * list[0].byte_length());
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].dims() != dims) {
      return impl::runtime_error("stack expects each tensor to be equal size, but got " + impl::shown(dims) +
                                 " at entry 0 and " + impl::shown(list[i].dims()) + " at entry " + std::to_string(i));
    }
    TOOLCHAIN_TRY(list[i].read(bytes.data() + i * list[0].byte_length()));
  }
  dims.insert(dims.begin(), static_cast<int64_t>(list.size()));
  return tensors::upload(list[0].device(), bytes.data(), list[0].dtype(), dims);
}

// The tensors side by side along dimension `axis`. Fails with a RuntimeError if the list is empty or shapes do not fit.
inline Result<Tensor> list_cat(const List<Tensor>& list, int64_t axis) {
  if (list.empty()) return impl::runtime_error("torch.cat() expects a non-empty list of tensors");
  TOOLCHAIN_TRY(impl::same_dtype(list));
  // As in PyTorch, an empty vector fits anything.
  List<Tensor> parts;
  for (const Tensor& tensor : list) {
    if (tensor.dims() != Dims{0}) parts.push_back(tensor);
  }
  if (parts.empty()) return list[0];
  Dims dims = parts[0].dims();
  const auto at = impl::position(axis, dims.size());
  if (!at) return impl::runtime_error("Dimension out of range");
  dims[*at] = 0;
  for (const Tensor& part : parts) {
    Dims others = part.dims();
    if (others.size() == dims.size()) others[*at] = dims[*at];
    if (others != dims) {
      return impl::runtime_error("Sizes of tensors must match except in dimension " + std::to_string(axis) + ".");
    }
    dims[*at] += part.dim(*at);
  }
  // Everything is rows of bytes: one row of each part after the other.
  size_t rows = 1;
  for (size_t i = 0; i < *at; ++i) rows *= static_cast<size_t>(dims[i]);
  std::vector<uint8_t> joined(count_elements(dims) * size_of(list[0].dtype()));
  const size_t pitch = rows ? joined.size() / rows : 0;
  size_t offset = 0;
  for (const Tensor& part : parts) {
    std::vector<uint8_t> bytes(part.byte_length());
    TOOLCHAIN_TRY(part.read(bytes.data()));
    const size_t width = rows ? bytes.size() / rows : 0;
    for (size_t row = 0; row < rows && width > 0; ++row) {
      std::memcpy(joined.data() + row * pitch + offset, bytes.data() + row * width, width);
    }
    offset += width;
  }
  return tensors::upload(list[0].device(), joined.data(), list[0].dtype(), dims);
}

// A one-dimensional tensor of the scalars. Fails as `full`.
template <class T>
Result<Tensor> list_tensor(const Device& device, const List<T>& values, DType dtype) {
  std::vector<uint8_t> bytes(values.size() * size_of(dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    TOOLCHAIN_TRY(scalars::encode(T(values[i]), dtype, bytes.data() + i * size_of(dtype)));
  }
  return tensors::upload(device, bytes.data(), dtype, {static_cast<int64_t>(values.size())});
}

namespace lists {

// Appends the next `dims[depth]` elements, or lists of such, and moves `at` behind their bytes.
template <class T>
void read(List<T>& list, const Dims& dims, size_t depth, DType dtype, const uint8_t*& at) {
  for (int64_t i = 0; i < dims[depth]; ++i) {
    if constexpr (std::is_arithmetic_v<T>) {
      list.push_back(scalars::decode<T>(dtype, at));
      at += size_of(dtype);
    } else {
      list.emplace_back();
      read(list.back(), dims, depth + 1, dtype, at);
    }
  }
}

}  // namespace lists

// The elements of a tensor as a list, nested as deep as the tensor has dims. The innermost elements are bool, int64_t or
// double, as the dtype says. Fails with RT304.
template <class L>
Result<L> tensor_list(const Tensor& tensor) {
  std::vector<uint8_t> bytes(tensor.byte_length());
  TOOLCHAIN_TRY(tensor.read(bytes.data()));
  L values;
  const uint8_t* at = bytes.data();
  lists::read(values, tensor.dims(), 0, tensor.dtype(), at);
  return values;
}

}  // namespace ops
}  // namespace toolchain
