// Files, here: memory that counts as one.
#pragma once

#include "iree/base/api.h"

extern "C" {

struct iree_io_file_handle_t;

using iree_io_file_access_t = uint32_t;
constexpr iree_io_file_access_t IREE_IO_FILE_ACCESS_READ = 1;

struct iree_io_file_handle_primitive_t {
  uint32_t type;
  union {
    iree_byte_span_t host_allocation;
    int fd;
  } value;
};

struct iree_io_file_handle_release_callback_t {
  void (*fn)(void* user_data, iree_io_file_handle_primitive_t handle_primitive);
  void* user_data;
};

iree_status_t iree_io_file_handle_wrap_host_allocation(iree_io_file_access_t allowed_access,
                                                       iree_byte_span_t host_allocation,
                                                       iree_io_file_handle_release_callback_t release_callback,
                                                       iree_allocator_t host_allocator,
                                                       iree_io_file_handle_t** out_handle);
void iree_io_file_handle_retain(iree_io_file_handle_t* handle);
void iree_io_file_handle_release(iree_io_file_handle_t* handle);

}  // extern "C"
