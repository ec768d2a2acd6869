// Serves parameters from an index.
#pragma once

#include "iree/io/parameter_index.h"

constexpr iree_host_size_t IREE_IO_PARAMETER_INDEX_PROVIDER_DEFAULT_MAX_CONCURRENT_OPERATIONS = 16;

extern "C" {

struct iree_io_parameter_provider_t;

iree_status_t iree_io_parameter_index_provider_create(iree_string_view_t scope, iree_io_parameter_index_t* index,
                                                      iree_host_size_t max_concurrent_operations,
                                                      iree_allocator_t host_allocator,
                                                      iree_io_parameter_provider_t** out_provider);
void iree_io_parameter_provider_retain(iree_io_parameter_provider_t* provider);
void iree_io_parameter_provider_release(iree_io_parameter_provider_t* provider);

}  // extern "C"
