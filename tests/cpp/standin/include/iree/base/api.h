// Basic types and statuses.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using iree_host_size_t = size_t;
using iree_device_size_t = size_t;

struct iree_string_view_t {
  const char* data;
  iree_host_size_t size;
};

struct iree_byte_span_t {
  uint8_t* data;
  iree_host_size_t data_length;
};

struct iree_const_byte_span_t {
  const uint8_t* data;
  iree_host_size_t data_length;
};

// Opaque: a code in the lowest bits, a pointer above them if there is more to say.
struct iree_status_handle_t;
using iree_status_t = iree_status_handle_t*;

enum iree_allocator_command_t { IREE_ALLOCATOR_COMMAND_MALLOC = 0 };

using iree_allocator_ctl_fn_t = iree_status_t (*)(void* self, iree_allocator_command_t command, const void* params,
                                                  void** inout_ptr);

struct iree_allocator_t {
  void* self;
  iree_allocator_ctl_fn_t ctl;
};

enum iree_timeout_type_t { IREE_TIMEOUT_ABSOLUTE = 0, IREE_TIMEOUT_RELATIVE = 1 };

struct iree_timeout_t {
  iree_timeout_type_t type;
  int64_t nanos;
};

iree_status_t iree_allocator_libc_ctl(void* self, iree_allocator_command_t command, const void* params,
                                      void** inout_ptr);
void iree_allocator_free(iree_allocator_t allocator, void* ptr);

enum iree_status_code_t { IREE_STATUS_OK = 0, IREE_STATUS_NOT_FOUND = 5 };
iree_status_t iree_status_allocate(iree_status_code_t code, const char* file, uint32_t line, iree_string_view_t message);
void iree_status_free(iree_status_t status);
bool iree_status_to_string(iree_status_t status, const iree_allocator_t* allocator, char** out_buffer,
                           iree_host_size_t* out_buffer_length);

}  // extern "C"

inline bool iree_status_is_ok(iree_status_t status) { return status == nullptr; }
inline iree_status_t iree_ok_status() { return nullptr; }
inline iree_allocator_t iree_allocator_system() { return {nullptr, iree_allocator_libc_ctl}; }
inline iree_allocator_t iree_allocator_null() { return {nullptr, nullptr}; }
inline iree_timeout_t iree_infinite_timeout() { return {IREE_TIMEOUT_ABSOLUTE, INT64_MAX}; }
inline iree_string_view_t iree_make_string_view(const char* data, iree_host_size_t size) { return {data, size}; }
inline iree_byte_span_t iree_make_byte_span(void* data, iree_host_size_t size) {
  return {static_cast<uint8_t*>(data), size};
}
inline iree_const_byte_span_t iree_make_const_byte_span(const void* data, iree_host_size_t size) {
  return {static_cast<const uint8_t*>(data), size};
}
