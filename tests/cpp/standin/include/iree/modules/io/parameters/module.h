// The module that serves parameters to compiled code.
#pragma once

#include "iree/io/parameter_index_provider.h"
#include "iree/vm/api.h"

extern "C" iree_status_t iree_io_parameters_module_create(iree_vm_instance_t* instance, iree_host_size_t provider_count,
                                                          iree_io_parameter_provider_t* const* providers,
                                                          iree_allocator_t host_allocator,
                                                          iree_vm_module_t** out_module);
