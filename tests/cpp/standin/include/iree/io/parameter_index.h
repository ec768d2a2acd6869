// Names for ranges of files.
#pragma once

#include "iree/io/file_handle.h"

extern "C" {

struct iree_io_parameter_index_t;

enum iree_io_parameter_index_entry_storage_type_t { IREE_IO_PARAMETER_INDEX_ENTRY_STORAGE_TYPE_FILE = 1 };

struct iree_io_parameter_index_entry_t {
  iree_string_view_t key;
  iree_const_byte_span_t metadata;
  uint64_t length;
  iree_io_parameter_index_entry_storage_type_t type;
  union {
    uint8_t splat[17];
    struct {
      iree_io_file_handle_t* handle;
      uint64_t offset;
    } file;
  } storage;
};

iree_status_t iree_io_parameter_index_create(iree_allocator_t host_allocator, iree_io_parameter_index_t** out_index);
void iree_io_parameter_index_retain(iree_io_parameter_index_t* index);
void iree_io_parameter_index_release(iree_io_parameter_index_t* index);
iree_status_t iree_io_parameter_index_add(iree_io_parameter_index_t* index,
                                          const iree_io_parameter_index_entry_t* entry);

}  // extern "C"
