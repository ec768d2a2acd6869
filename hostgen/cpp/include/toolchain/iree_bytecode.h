// IREE's function that makes modules from .vmfb files.
#pragma once

#include <iree/vm/api.h>

// IREE's header of 3.12 needs generated headers that its distribution does not install.
#if !__has_include(<iree/vm/bytecode/isa/isa.h>) || __has_include(<iree/schemas/bytecode_module_def_reader.h>)
#include <iree/vm/bytecode/module.h>
#else
extern "C" {

enum iree_vm_bytecode_module_flags_t { IREE_VM_BYTECODE_MODULE_FLAG_NONE = 0 };

iree_status_t iree_vm_bytecode_module_create(iree_vm_instance_t* instance, iree_vm_bytecode_module_flags_t flags,
                                             iree_const_byte_span_t archive_contents,
                                             iree_allocator_t archive_allocator, iree_allocator_t allocator,
                                             iree_vm_module_t** out_module);

}  // extern "C"
#endif
