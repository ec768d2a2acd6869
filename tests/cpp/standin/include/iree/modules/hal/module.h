// The module through which compiled code reaches devices.
#pragma once

#include "iree/hal/api.h"
#include "iree/vm/api.h"

extern "C" {

struct iree_hal_module_device_policy_t {
  void (*fn)();
  void* user_data;
};

struct iree_hal_module_debug_sink_t {
  void (*release)(void* user_data);
  void* release_user_data;
  void (*buffer_view_trace)();
  void* buffer_view_trace_user_data;
};

using iree_hal_module_flags_t = uint32_t;
constexpr iree_hal_module_flags_t IREE_HAL_MODULE_FLAG_NONE = 0;

iree_hal_module_device_policy_t iree_hal_module_device_policy_default(void);
iree_hal_module_debug_sink_t iree_hal_module_debug_sink_null(void);

}  // extern "C"

#include "iree/standin/modules.h"
