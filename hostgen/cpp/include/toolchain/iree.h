// IREE's C API, and its reference-counted objects and statuses as C++ values.
#pragma once

#include <iree/async/frontier_tracker.h>
#include <iree/async/util/proactor_pool.h>
#include <iree/base/api.h>
#include <iree/hal/api.h>
#include <iree/hal/drivers/init.h>
#include <iree/io/file_handle.h>
#include <iree/io/parameter_index.h>
#include <iree/io/parameter_index_provider.h>
#include <iree/modules/hal/module.h>
#include <iree/modules/hal/types.h>
#include <iree/modules/io/parameters/module.h>
#include <iree/vm/api.h>

#include <string>
#include <string_view>
#include <utility>

#include "toolchain/error.h"
#include "toolchain/iree_bytecode.h"

namespace toolchain::iree {

// Owns one reference to an IREE object. Copies retain, so they may go to other threads.
template <class T, void (*retain)(T*), void (*release)(T*)>
class Handle {
 public:
  Handle() = default;
  // Takes over the caller's reference.
  explicit Handle(T* object) : object_(object) {}
  Handle(const Handle& other) : object_(other.object_) {
    if (object_) retain(object_);
  }
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_) release(object_);
  }

  T* get() const { return object_; }
  // For IREE's functions that return an object through a pointer; only while this handle is empty.
  T** out() { return &object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

using Instance = Handle<iree_vm_instance_t, iree_vm_instance_retain, iree_vm_instance_release>;
using Module = Handle<iree_vm_module_t, iree_vm_module_retain, iree_vm_module_release>;
using Context = Handle<iree_vm_context_t, iree_vm_context_retain, iree_vm_context_release>;
using List = Handle<iree_vm_list_t, iree_vm_list_retain, iree_vm_list_release>;
using HalDevice = Handle<iree_hal_device_t, iree_hal_device_retain, iree_hal_device_release>;
using DeviceGroup = Handle<iree_hal_device_group_t, iree_hal_device_group_retain, iree_hal_device_group_release>;
using Buffer = Handle<iree_hal_buffer_t, iree_hal_buffer_retain, iree_hal_buffer_release>;
using BufferView = Handle<iree_hal_buffer_view_t, iree_hal_buffer_view_retain, iree_hal_buffer_view_release>;
using ProactorPool =
    Handle<iree_async_proactor_pool_t, iree_async_proactor_pool_retain, iree_async_proactor_pool_release>;
using FrontierTracker =
    Handle<iree_async_frontier_tracker_t, iree_async_frontier_tracker_retain, iree_async_frontier_tracker_release>;
using FileHandle = Handle<iree_io_file_handle_t, iree_io_file_handle_retain, iree_io_file_handle_release>;
using ParameterIndex =
    Handle<iree_io_parameter_index_t, iree_io_parameter_index_retain, iree_io_parameter_index_release>;
using ParameterProvider =
    Handle<iree_io_parameter_provider_t, iree_io_parameter_provider_retain, iree_io_parameter_provider_release>;

inline iree_string_view_t view(std::string_view text) { return iree_make_string_view(text.data(), text.size()); }

// What a status says; frees it.
inline std::string consume(iree_status_t status) {
  iree_allocator_t allocator = iree_allocator_system();
  char* text = nullptr;
  iree_host_size_t length = 0;
  std::string message = "no description";
  if (iree_status_to_string(status, &allocator, &text, &length)) {
    message.assign(text, length);
    iree_allocator_free(allocator, text);
  }
  iree_status_free(status);
  return message;
}

// A failed status as an error with `code`: "<what>: <IREE's text>". Frees the status.
inline Status checked(iree_status_t status, const char* code, std::string_view what, std::string_view hint = {}) {
  if (iree_status_is_ok(status)) return {};
  return Error(code, std::string(what) + ": " + consume(status), std::string(hint));
}

}  // namespace toolchain::iree
