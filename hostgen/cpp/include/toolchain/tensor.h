// Tensors on a device, and views of tensors in the caller's memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "toolchain/device.h"
#include "toolchain/dtype.h"
#include "toolchain/span.h"

namespace toolchain {

using Dims = std::vector<int64_t>;

// "float32[2, 3]"
inline std::string describe(DType dtype, const Dims& dims) {
  std::string text = std::string(name_of(dtype)) + "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

inline size_t count_elements(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), size_t{1},
                         [](size_t count, int64_t extent) { return count * static_cast<size_t>(extent); });
}

// A dense row-major tensor on a device; a handle that is cheap to copy. Its elements never change.
//
// Lifetime: keeps its device (and what it shares memory with) alive, except for the caller's memory behind an input.
// Threads: any number may read one tensor.
class Tensor {
 public:
  // No tensor: good for nothing but assignment.
  Tensor() = default;
  Tensor(Device device, iree::BufferView view, DType dtype)
      : device_(std::move(device)), view_(std::move(view)), dtype_(dtype) {}

  explicit operator bool() const { return static_cast<bool>(view_); }
  DType dtype() const { return dtype_; }
  size_t rank() const { return iree_hal_buffer_view_shape_rank(view_.get()); }
  int64_t dim(size_t index) const {
    return static_cast<int64_t>(iree_hal_buffer_view_shape_dim(view_.get(), index));
  }
  Dims dims() const {
    Dims dims(rank());
    for (size_t i = 0; i < dims.size(); ++i) dims[i] = dim(i);
    return dims;
  }
  size_t element_count() const { return iree_hal_buffer_view_element_count(view_.get()); }
  size_t byte_length() const { return element_count() * size_of(dtype_); }

  // Copies the elements to `target`, which has room for byte_length() bytes. Fails with RT304.
  Status read(void* target) const;

  // The elements, of the C++ type that belongs to dtype(). Fails with RT206 if T is another one, else with RT304.
  template <class T>
  Result<std::vector<T>> to_vector() const;

  const Device& device() const { return device_; }
  iree_hal_buffer_view_t* view() const { return view_.get(); }
  iree_hal_buffer_t* buffer() const { return iree_hal_buffer_view_buffer(view_.get()); }

 private:
  // The view goes first: buffers must not outlive their device.
  Device device_;
  iree::BufferView view_;
  DType dtype_ = DType::float32;
};

// A dense row-major tensor in memory that the caller owns, or a Tensor: what a program takes.
//
// Lifetime: the memory must outlive the call that it is passed to, and nobody may write to it meanwhile; nothing refers
// to it afterwards.
class TensorView {
 public:
  template <class T>
  TensorView(const T* data, Dims dims) : TensorView(data, dtype_of<T>(), std::move(dims)) {}
  TensorView(const void* data, DType dtype, Dims dims) : data_(data), dtype_(dtype), dims_(std::move(dims)) {}
  TensorView(const Tensor& tensor) : tensor_(tensor), dtype_(tensor.dtype()), dims_(tensor.dims()) {}

  const void* data() const { return data_; }
  // If this is a view of one.
  const Tensor& tensor() const { return tensor_; }
  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  size_t byte_length() const { return count_elements(dims_) * size_of(dtype_); }

 private:
  const void* data_ = nullptr;
  Tensor tensor_;
  DType dtype_;
  Dims dims_;
};

// A TensorView that the program may change: an argument that PyTorch would change in place.
class MutableTensorView : public TensorView {
 public:
  template <class T>
  MutableTensorView(T* data, Dims dims) : TensorView(data, std::move(dims)), target_(data) {}
  MutableTensorView(void* data, DType dtype, Dims dims) : TensorView(data, dtype, std::move(dims)), target_(data) {}

  void* target() const { return target_; }

 private:
  void* target_;
};

// Making tensors. All fail with RT304 if the device refuses.
namespace tensors {

constexpr size_t kAlignment = IREE_HAL_HEAP_BUFFER_ALIGNMENT;

inline Status done(iree_status_t status, const char* what) { return iree::checked(status, "RT304", what); }

inline iree_hal_buffer_params_t params(iree_hal_memory_type_t type, iree_hal_buffer_usage_t usage) {
  iree_hal_buffer_params_t params = {};
  params.type = type;
  params.usage = usage;
  return params;
}

// A tensor of the elements in `buffer`.
inline Result<Tensor> wrap(const Device& device, const iree::Buffer& buffer, DType dtype, const Dims& dims) {
  std::vector<iree_hal_dim_t> shape(dims.begin(), dims.end());
  iree::BufferView view;
  TOOLCHAIN_TRY(done(iree_hal_buffer_view_create(buffer.get(), shape.size(), shape.data(), traits(dtype).element,
                                                 IREE_HAL_ENCODING_TYPE_DENSE_ROW_MAJOR, iree_allocator_system(),
                                                 view.out()),
                     "a tensor cannot be made"));
  return Tensor(device, std::move(view), dtype);
}

// A buffer that both the host and the device reach, to copy through. Where they share memory, none is the host's own.
inline Result<iree::Buffer> staging(const Device& device, size_t size) {
  iree::Buffer buffer;
  const auto wanted = params(IREE_HAL_MEMORY_TYPE_HOST_VISIBLE | IREE_HAL_MEMORY_TYPE_DEVICE_VISIBLE,
                             IREE_HAL_BUFFER_USAGE_TRANSFER | IREE_HAL_BUFFER_USAGE_MAPPING);
  TOOLCHAIN_TRY(done(iree_hal_allocator_allocate_buffer(device.allocator(), wanted, size, buffer.out()),
                     "memory to copy through cannot be had"));
  return buffer;
}

inline Status copy(const Device& device, iree_hal_buffer_t* source, iree_hal_buffer_t* target, size_t size) {
  return done(iree_hal_device_transfer_d2d(device.hal(), source, 0, target, 0, size,
                                           IREE_HAL_TRANSFER_BUFFER_FLAG_DEFAULT, iree_infinite_timeout()),
              "a tensor cannot be copied");
}

inline Status write(const Device& device, iree_hal_buffer_t* target, const void* data, size_t size) {
  if (size == 0) return {};
  if (device.is_host()) return done(iree_hal_buffer_map_write(target, 0, data, size), "a tensor cannot be written");
  TOOLCHAIN_ASSIGN(const iree::Buffer stage, staging(device, size));
  TOOLCHAIN_TRY(done(iree_hal_buffer_map_write(stage.get(), 0, data, size), "a tensor cannot be written"));
  return copy(device, stage.get(), target, size);
}

// IREE's own way of reading imports the host's pointer, which Vulkan refuses unless it is aligned to pages.
inline Status read(const Device& device, iree_hal_buffer_t* source, void* data, size_t size) {
  if (size == 0) return {};
  if (device.is_host()) return done(iree_hal_buffer_map_read(source, 0, data, size), "a tensor cannot be read");
  TOOLCHAIN_ASSIGN(const iree::Buffer stage, staging(device, size));
  TOOLCHAIN_TRY(copy(device, source, stage.get(), size));
  return done(iree_hal_buffer_map_read(stage.get(), 0, data, size), "a tensor cannot be read");
}

// A tensor with a copy of `data`.
inline Result<Tensor> upload(const Device& device, const void* data, DType dtype, const Dims& dims) {
  const size_t size = count_elements(dims) * size_of(dtype);
  const auto mapping = device.is_host() ? IREE_HAL_BUFFER_USAGE_MAPPING : IREE_HAL_BUFFER_USAGE_NONE;
  const auto wanted = params(IREE_HAL_MEMORY_TYPE_DEVICE_LOCAL, IREE_HAL_BUFFER_USAGE_DEFAULT | mapping);
  iree::Buffer buffer;
  TOOLCHAIN_TRY(done(iree_hal_allocator_allocate_buffer(device.allocator(), wanted, size, buffer.out()),
                     "memory for a tensor cannot be had"));
  TOOLCHAIN_TRY(write(device, buffer.get(), data, size));
  return wrap(device, buffer, dtype, dims);
}

inline bool can_share(const Device& device, const void* data, size_t size) {
  return device.is_host() && size > 0 && reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
}

// A tensor over `data`, only if can_share(); `owner` (which may be empty) stays alive as long as the tensor's buffer.
inline Result<Tensor> share(const Device& device, const void* data, DType dtype, const Dims& dims,
                            std::shared_ptr<const void> owner) {
  iree_hal_external_buffer_t memory = {};
  memory.type = IREE_HAL_EXTERNAL_BUFFER_TYPE_HOST_ALLOCATION;
  memory.size = count_elements(dims) * size_of(dtype);
  memory.handle.host_allocation.ptr = const_cast<void*>(data);
  using Owner = std::shared_ptr<const void>;
  auto kept = std::make_unique<Owner>(std::move(owner));
  iree_hal_buffer_release_callback_t release = {};
  release.fn = [](void* user_data, iree_hal_buffer_t*) { delete static_cast<Owner*>(user_data); };
  release.user_data = kept.get();
  auto wanted = params(IREE_HAL_MEMORY_TYPE_DEVICE_LOCAL | IREE_HAL_MEMORY_TYPE_HOST_VISIBLE,
                       IREE_HAL_BUFFER_USAGE_DEFAULT | IREE_HAL_BUFFER_USAGE_MAPPING);
  iree::Buffer buffer;
  TOOLCHAIN_TRY(done(iree_hal_allocator_import_buffer(device.allocator(), wanted, &memory, release, buffer.out()),
                     "memory cannot be shared with the device"));
  kept.release();
  return wrap(device, buffer, dtype, dims);
}

}  // namespace tensors

inline Status Tensor::read(void* target) const { return tensors::read(device_, buffer(), target, byte_length()); }

template <class T>
Result<std::vector<T>> Tensor::to_vector() const {
  if (dtype_ != dtype_of<T>()) {
    return Error("RT206", std::string("the elements are ") + name_of(dtype_) + ", not " + name_of(dtype_of<T>()));
  }
  // A vector of bool has no array of bytes inside.
  std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>> elements(element_count());
  TOOLCHAIN_TRY(read(elements.data()));
  return std::vector<T>(elements.begin(), elements.end());
}

}  // namespace toolchain
