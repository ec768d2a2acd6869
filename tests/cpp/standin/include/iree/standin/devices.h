// Opening devices, as in later versions: 3.9's library has neither a registry of drivers nor the objects that later
// versions share between devices. There is one device, the pool of threads.
#pragma once

#include <atomic>
#include <string_view>

#include "iree/base/api.h"
#include "iree/hal/api.h"

extern "C" {

struct iree_hal_executable_loader_t;
struct iree_hal_executable_plugin_manager_t;
struct iree_task_executor_t;

// Larger than that of 3.9, which only its own functions fill in and read.
struct iree_hal_task_device_params_t {
  alignas(16) unsigned char opaque[256];
};

iree_status_t iree_task_executors_create_from_flags(iree_allocator_t host_allocator, iree_host_size_t executor_capacity,
                                                    iree_task_executor_t** executors,
                                                    iree_host_size_t* out_executor_count);
void iree_task_executor_release(iree_task_executor_t* executor);
iree_status_t iree_hal_create_all_available_executable_loaders(iree_hal_executable_plugin_manager_t* plugin_manager,
                                                               iree_host_size_t capacity, iree_host_size_t* out_count,
                                                               iree_hal_executable_loader_t** loaders,
                                                               iree_allocator_t host_allocator);
void iree_hal_executable_loader_release(iree_hal_executable_loader_t* loader);
iree_status_t iree_hal_allocator_create_heap(iree_string_view_t identifier, iree_allocator_t data_allocator,
                                             iree_allocator_t host_allocator, iree_hal_allocator_t** out_allocator);
void iree_hal_allocator_release(iree_hal_allocator_t* allocator);
void iree_hal_task_device_params_initialize(iree_hal_task_device_params_t* out_params);
iree_status_t iree_hal_task_device_create(iree_string_view_t identifier, const iree_hal_task_device_params_t* params,
                                          iree_host_size_t queue_count, iree_task_executor_t* const* queue_executors,
                                          iree_host_size_t loader_count, iree_hal_executable_loader_t** loaders,
                                          iree_hal_allocator_t* device_allocator, iree_allocator_t host_allocator,
                                          iree_hal_device_t** out_device);

}  // extern "C"

// Objects of later versions that nothing here needs.
struct iree_async_frontier_tracker_t {};
struct iree_async_frontier_tracker_options_t {};
struct iree_async_proactor_pool_t {};
struct iree_async_proactor_pool_options_t {};
struct iree_hal_driver_registry_t {};

inline iree_async_frontier_tracker_options_t iree_async_frontier_tracker_options_default() { return {}; }
inline iree_status_t iree_async_frontier_tracker_create(iree_async_frontier_tracker_options_t, iree_allocator_t,
                                                        iree_async_frontier_tracker_t** out_tracker) {
  *out_tracker = nullptr;
  return iree_ok_status();
}
inline void iree_async_frontier_tracker_retain(iree_async_frontier_tracker_t*) {}
inline void iree_async_frontier_tracker_release(iree_async_frontier_tracker_t*) {}

inline iree_async_proactor_pool_options_t iree_async_proactor_pool_options_default() { return {}; }
inline iree_status_t iree_async_proactor_pool_create(iree_host_size_t, const uint32_t*,
                                                     iree_async_proactor_pool_options_t, iree_allocator_t,
                                                     iree_async_proactor_pool_t** out_pool) {
  *out_pool = nullptr;
  return iree_ok_status();
}
inline void iree_async_proactor_pool_retain(iree_async_proactor_pool_t*) {}
inline void iree_async_proactor_pool_release(iree_async_proactor_pool_t*) {}

inline iree_status_t iree_hal_driver_registry_allocate(iree_allocator_t, iree_hal_driver_registry_t** out_registry) {
  *out_registry = nullptr;
  return iree_ok_status();
}
inline void iree_hal_driver_registry_free(iree_hal_driver_registry_t*) {}
inline iree_status_t iree_hal_register_all_available_drivers(iree_hal_driver_registry_t*) { return iree_ok_status(); }

struct iree_hal_device_create_params_t {
  iree_async_proactor_pool_t* proactor_pool;
};
inline iree_hal_device_create_params_t iree_hal_device_create_params_default() { return {nullptr}; }

// A group of one device.
struct iree_hal_device_group_t {
  std::atomic<int> references;
  iree_hal_device_t* device;
};

inline iree_status_t iree_hal_device_group_create_from_device(iree_hal_device_t* device, iree_async_frontier_tracker_t*,
                                                              iree_allocator_t, iree_hal_device_group_t** out_group) {
  iree_hal_device_retain(device);
  *out_group = new iree_hal_device_group_t{{1}, device};
  return iree_ok_status();
}
inline void iree_hal_device_group_retain(iree_hal_device_group_t* group) { ++group->references; }
inline void iree_hal_device_group_release(iree_hal_device_group_t* group) {
  if (--group->references > 0) return;
  iree_hal_device_release(group->device);
  delete group;
}

namespace iree_standin {

// What a device is made of; the device retains it all.
struct Parts {
  iree_task_executor_t* executors[64] = {};
  iree_host_size_t executor_count = 0;
  iree_hal_executable_loader_t* loaders[8] = {};
  iree_host_size_t loader_count = 0;
  iree_hal_allocator_t* allocator = nullptr;

  ~Parts() {
    for (iree_host_size_t i = 0; i < executor_count; ++i) iree_task_executor_release(executors[i]);
    for (iree_host_size_t i = 0; i < loader_count; ++i) iree_hal_executable_loader_release(loaders[i]);
    if (allocator) iree_hal_allocator_release(allocator);
  }
};

}  // namespace iree_standin

inline iree_status_t iree_hal_create_device(iree_hal_driver_registry_t*, iree_string_view_t device_uri,
                                            const iree_hal_device_create_params_t*, iree_allocator_t allocator,
                                            iree_hal_device_t** out_device) {
  const std::string_view uri(device_uri.data, device_uri.size);
  if (uri != "local-sync" && uri != "local-task") {
    const std::string_view message = "the stand-in has the devices local-sync and local-task only";
    return iree_status_allocate(IREE_STATUS_NOT_FOUND, __FILE__, __LINE__, {message.data(), message.size()});
  }
  iree_standin::Parts parts;
  iree_status_t status =
      iree_task_executors_create_from_flags(allocator, 64, parts.executors, &parts.executor_count);
  if (!iree_status_is_ok(status)) return status;
  status = iree_hal_create_all_available_executable_loaders(nullptr, 8, &parts.loader_count, parts.loaders, allocator);
  if (!iree_status_is_ok(status)) return status;
  const iree_string_view_t name = {"local", 5};
  status = iree_hal_allocator_create_heap(name, allocator, allocator, &parts.allocator);
  if (!iree_status_is_ok(status)) return status;
  iree_hal_task_device_params_t params;
  iree_hal_task_device_params_initialize(&params);
  return iree_hal_task_device_create(name, &params, parts.executor_count, parts.executors, parts.loader_count,
                                     parts.loaders, parts.allocator, allocator, out_device);
}
