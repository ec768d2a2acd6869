// The virtual machine: instances, modules, contexts, lists, calls.
#pragma once

#include "iree/base/api.h"

constexpr iree_host_size_t IREE_VM_TYPE_CAPACITY_DEFAULT = 32;

extern "C" {

struct iree_vm_context_t;
struct iree_vm_instance_t;
struct iree_vm_invocation_policy_t;
struct iree_vm_list_t;
struct iree_vm_module_t;

struct iree_vm_function_t {
  iree_vm_module_t* module;
  uint16_t linkage;
  uint16_t ordinal;
};

enum iree_vm_function_linkage_t { IREE_VM_FUNCTION_LINKAGE_EXPORT = 2 };

enum iree_vm_value_type_t { IREE_VM_VALUE_TYPE_I64 = 4, IREE_VM_VALUE_TYPE_F64 = 6 };

struct iree_vm_value_t {
  iree_vm_value_type_t type;
  union {
    int64_t i64;
    double f64;
  };
};

// Three bits for the type of a value, the rest for the type of an object; none of either means any.
struct iree_vm_type_def_t {
  uintptr_t value_type_bits : 3;
  uintptr_t ref_type_bits : 61;
};

using iree_vm_context_flags_t = uint32_t;
constexpr iree_vm_context_flags_t IREE_VM_CONTEXT_FLAG_NONE = 0;
using iree_vm_invocation_flags_t = uint32_t;
constexpr iree_vm_invocation_flags_t IREE_VM_INVOCATION_FLAG_NONE = 0;

iree_status_t iree_vm_instance_create(iree_host_size_t type_capacity, iree_allocator_t allocator,
                                      iree_vm_instance_t** out_instance);
void iree_vm_instance_retain(iree_vm_instance_t* instance);
void iree_vm_instance_release(iree_vm_instance_t* instance);

void iree_vm_module_retain(iree_vm_module_t* module);
void iree_vm_module_release(iree_vm_module_t* module);
iree_status_t iree_vm_module_lookup_function_by_name(const iree_vm_module_t* module,
                                                     iree_vm_function_linkage_t linkage, iree_string_view_t name,
                                                     iree_vm_function_t* out_function);

iree_status_t iree_vm_context_create_with_modules(iree_vm_instance_t* instance, iree_vm_context_flags_t flags,
                                                  iree_host_size_t module_count, iree_vm_module_t** modules,
                                                  iree_allocator_t allocator, iree_vm_context_t** out_context);
void iree_vm_context_retain(iree_vm_context_t* context);
void iree_vm_context_release(iree_vm_context_t* context);

iree_status_t iree_vm_list_create(iree_vm_type_def_t element_type, iree_host_size_t initial_capacity,
                                  iree_allocator_t allocator, iree_vm_list_t** out_list);
void iree_vm_list_retain(iree_vm_list_t* list);
void iree_vm_list_release(iree_vm_list_t* list);
iree_status_t iree_vm_list_resize(iree_vm_list_t* list, iree_host_size_t new_size);
void iree_vm_list_clear(iree_vm_list_t* list);
iree_status_t iree_vm_list_set_value(iree_vm_list_t* list, iree_host_size_t i, const iree_vm_value_t* value);

iree_status_t iree_vm_invoke(iree_vm_context_t* context, iree_vm_function_t function,
                             iree_vm_invocation_flags_t flags, const iree_vm_invocation_policy_t* policy,
                             const iree_vm_list_t* inputs, iree_vm_list_t* outputs, iree_allocator_t host_allocator);

}  // extern "C"

inline iree_vm_type_def_t iree_vm_make_undefined_type_def() { return {0, 0}; }

inline iree_vm_value_t iree_vm_value_make_i64(int64_t value) {
  iree_vm_value_t result;
  result.type = IREE_VM_VALUE_TYPE_I64;
  result.i64 = value;
  return result;
}

inline iree_vm_value_t iree_vm_value_make_f64(double value) {
  iree_vm_value_t result;
  result.type = IREE_VM_VALUE_TYPE_F64;
  result.f64 = value;
  return result;
}
