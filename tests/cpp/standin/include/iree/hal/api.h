// Devices, allocators, buffers.
#pragma once

#include "iree/base/api.h"

constexpr size_t IREE_HAL_HEAP_BUFFER_ALIGNMENT = 64;

extern "C" {

struct iree_hal_allocator_t;
struct iree_hal_buffer_t;
struct iree_hal_buffer_view_t;
struct iree_hal_device_t;

using iree_hal_dim_t = iree_device_size_t;
using iree_hal_element_type_t = uint32_t;

using iree_hal_encoding_type_t = uint32_t;
constexpr iree_hal_encoding_type_t IREE_HAL_ENCODING_TYPE_DENSE_ROW_MAJOR = 1;

using iree_hal_memory_access_t = uint16_t;
using iree_hal_queue_affinity_t = uint64_t;

using iree_hal_memory_type_t = uint32_t;
constexpr iree_hal_memory_type_t IREE_HAL_MEMORY_TYPE_HOST_VISIBLE = 0x02;
constexpr iree_hal_memory_type_t IREE_HAL_MEMORY_TYPE_HOST_LOCAL = 0x46;
constexpr iree_hal_memory_type_t IREE_HAL_MEMORY_TYPE_DEVICE_VISIBLE = 0x10;
constexpr iree_hal_memory_type_t IREE_HAL_MEMORY_TYPE_DEVICE_LOCAL = 0x30;

using iree_hal_buffer_usage_t = uint32_t;
constexpr iree_hal_buffer_usage_t IREE_HAL_BUFFER_USAGE_NONE = 0;
constexpr iree_hal_buffer_usage_t IREE_HAL_BUFFER_USAGE_TRANSFER = 0x03;
constexpr iree_hal_buffer_usage_t IREE_HAL_BUFFER_USAGE_DEFAULT = 0xC03;
constexpr iree_hal_buffer_usage_t IREE_HAL_BUFFER_USAGE_MAPPING = 0x09000000;

struct iree_hal_buffer_params_t {
  iree_hal_buffer_usage_t usage;
  iree_hal_memory_access_t access;
  iree_hal_memory_type_t type;
  iree_hal_queue_affinity_t queue_affinity;
  iree_device_size_t min_alignment;
};

enum iree_hal_external_buffer_type_t { IREE_HAL_EXTERNAL_BUFFER_TYPE_HOST_ALLOCATION = 1 };

struct iree_hal_external_buffer_t {
  iree_hal_external_buffer_type_t type;
  uint32_t flags;
  iree_device_size_t size;
  union {
    struct {
      void* ptr;
    } host_allocation;
    uint64_t device_allocation;
  } handle;
};

struct iree_hal_buffer_release_callback_t {
  void (*fn)(void* user_data, iree_hal_buffer_t* buffer);
  void* user_data;
};

using iree_hal_transfer_buffer_flags_t = uint32_t;
constexpr iree_hal_transfer_buffer_flags_t IREE_HAL_TRANSFER_BUFFER_FLAG_DEFAULT = 0;

void iree_hal_device_retain(iree_hal_device_t* device);
void iree_hal_device_release(iree_hal_device_t* device);
iree_hal_allocator_t* iree_hal_device_allocator(iree_hal_device_t* device);
iree_status_t iree_hal_device_transfer_d2d(iree_hal_device_t* device, iree_hal_buffer_t* source,
                                           iree_device_size_t source_offset, iree_hal_buffer_t* target,
                                           iree_device_size_t target_offset, iree_device_size_t data_length,
                                           iree_hal_transfer_buffer_flags_t flags, iree_timeout_t timeout);

iree_status_t iree_hal_allocator_allocate_buffer(iree_hal_allocator_t* allocator, iree_hal_buffer_params_t params,
                                                 iree_device_size_t allocation_size, iree_hal_buffer_t** out_buffer);
iree_status_t iree_hal_allocator_import_buffer(iree_hal_allocator_t* allocator, iree_hal_buffer_params_t params,
                                               iree_hal_external_buffer_t* external_buffer,
                                               iree_hal_buffer_release_callback_t release_callback,
                                               iree_hal_buffer_t** out_buffer);

void iree_hal_buffer_retain(iree_hal_buffer_t* buffer);
void iree_hal_buffer_release(iree_hal_buffer_t* buffer);
iree_hal_buffer_t* iree_hal_buffer_allocated_buffer(const iree_hal_buffer_t* buffer);
iree_status_t iree_hal_buffer_map_read(iree_hal_buffer_t* source_buffer, iree_device_size_t source_offset,
                                       void* target_buffer, iree_device_size_t data_length);
iree_status_t iree_hal_buffer_map_write(iree_hal_buffer_t* target_buffer, iree_device_size_t target_offset,
                                        const void* source_buffer, iree_device_size_t data_length);

iree_status_t iree_hal_buffer_view_create(iree_hal_buffer_t* buffer, iree_host_size_t shape_rank,
                                          const iree_hal_dim_t* shape, iree_hal_element_type_t element_type,
                                          iree_hal_encoding_type_t encoding_type, iree_allocator_t host_allocator,
                                          iree_hal_buffer_view_t** out_buffer_view);
void iree_hal_buffer_view_retain(iree_hal_buffer_view_t* buffer_view);
void iree_hal_buffer_view_release(iree_hal_buffer_view_t* buffer_view);
iree_hal_buffer_t* iree_hal_buffer_view_buffer(const iree_hal_buffer_view_t* buffer_view);
iree_host_size_t iree_hal_buffer_view_shape_rank(const iree_hal_buffer_view_t* buffer_view);
iree_hal_dim_t iree_hal_buffer_view_shape_dim(const iree_hal_buffer_view_t* buffer_view, iree_host_size_t index);
iree_host_size_t iree_hal_buffer_view_element_count(const iree_hal_buffer_view_t* buffer_view);
iree_hal_element_type_t iree_hal_buffer_view_element_type(const iree_hal_buffer_view_t* buffer_view);

}  // extern "C"

#include "iree/standin/devices.h"
