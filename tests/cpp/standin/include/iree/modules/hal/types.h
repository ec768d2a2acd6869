// Device objects as values of the virtual machine.
#pragma once

#include "iree/hal/api.h"
#include "iree/vm/api.h"

extern "C" {

iree_status_t iree_hal_module_register_all_types(iree_vm_instance_t* instance);
iree_hal_buffer_view_t* iree_vm_list_get_buffer_view_retain(const iree_vm_list_t* list, iree_host_size_t i);
iree_status_t iree_vm_list_set_buffer_view_retain(iree_vm_list_t* list, iree_host_size_t i,
                                                  iree_hal_buffer_view_t* value);

}  // extern "C"
