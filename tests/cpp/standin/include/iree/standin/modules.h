// Creating modules: 3.9 has these functions with other parameters than later versions.
#pragma once

#include "iree/hal/api.h"
#include "iree/modules/hal/module.h"
#include "iree/vm/api.h"
#include "iree/vm/bytecode/module.h"

extern "C" {
iree_status_t iree_vm_bytecode_module_create(iree_vm_instance_t* instance, iree_const_byte_span_t archive_contents,
                                             iree_allocator_t archive_allocator, iree_allocator_t allocator,
                                             iree_vm_module_t** out_module);
iree_status_t iree_hal_module_create(iree_vm_instance_t* instance, iree_hal_module_device_policy_t device_policy,
                                     iree_host_size_t device_count, iree_hal_device_t** devices,
                                     iree_hal_module_flags_t flags, iree_hal_module_debug_sink_t debug_sink,
                                     iree_allocator_t host_allocator, iree_vm_module_t** out_module);
}  // extern "C"

// C++ tells these from the ones above by their parameters.
inline iree_status_t iree_vm_bytecode_module_create(iree_vm_instance_t* instance, iree_vm_bytecode_module_flags_t,
                                                    iree_const_byte_span_t archive_contents,
                                                    iree_allocator_t archive_allocator, iree_allocator_t allocator,
                                                    iree_vm_module_t** out_module) {
  return iree_vm_bytecode_module_create(instance, archive_contents, archive_allocator, allocator, out_module);
}

inline iree_status_t iree_hal_module_create(iree_vm_instance_t* instance, iree_hal_module_device_policy_t device_policy,
                                            iree_hal_device_group_t* device_group, iree_hal_module_flags_t flags,
                                            iree_hal_module_debug_sink_t debug_sink, iree_allocator_t host_allocator,
                                            iree_vm_module_t** out_module) {
  return iree_hal_module_create(instance, device_policy, 1, &device_group->device, flags, debug_sink, host_allocator,
                                out_module);
}
