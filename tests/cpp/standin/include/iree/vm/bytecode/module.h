// Modules from .vmfb files.
#pragma once

#include "iree/vm/api.h"

enum iree_vm_bytecode_module_flags_t { IREE_VM_BYTECODE_MODULE_FLAG_NONE = 0 };

#include "iree/standin/modules.h"
