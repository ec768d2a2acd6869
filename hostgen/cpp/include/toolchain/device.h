// Devices, by URI.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "toolchain/iree.h"

namespace toolchain {

// An opened device with its IREE instance; a handle that is cheap to copy. Whatever was made on a device keeps it open.
//
// Threads: any number may use one device, each with a session of its own.
class Device {
 public:
  // No device: good for nothing but assignment.
  Device() = default;

  // Opens "local-sync" (runs on the calling thread: best for small work), "local-task" (a pool of threads), "vulkan",
  // "cuda", or what else the linked IREE runtime knows; "vulkan://<id>" names one of several. "cpu" is "local-sync".
  // Fails with RT302.
  static Result<Device> open(const std::string& uri) {
    auto state = std::make_shared<State>();
    state->uri = uri == "cpu" ? "local-sync" : uri;
    const std::string driver = state->uri.substr(0, state->uri.find(':'));
    state->is_host = driver == "local-sync" || driver == "local-task";
    state->kind = state->is_host ? "cpu" : driver;
    TOOLCHAIN_TRY(open_in(*state));
    Device device;
    device.state_ = std::move(state);
    return device;
  }

  // What was asked for, e.g. "local-sync".
  const std::string& uri() const { return state_->uri; }
  // "cpu", "vulkan", "cuda", ...: which of a bundle's targets it runs.
  const std::string& kind() const { return state_->kind; }
  // Whether its memory is the host's, so that nothing needs to be copied.
  bool is_host() const { return state_->is_host; }

  iree_vm_instance_t* instance() const { return state_->instance.get(); }
  iree_vm_module_t* hal_module() const { return state_->hal_module.get(); }
  iree_hal_device_t* hal() const { return state_->hal.get(); }
  iree_hal_allocator_t* allocator() const { return iree_hal_device_allocator(hal()); }

 private:
  struct RegistryDeleter {
    void operator()(iree_hal_driver_registry_t* registry) const { iree_hal_driver_registry_free(registry); }
  };

  // In the order in which they are made: a later one may need an earlier one.
  struct State {
    std::string uri, kind;
    bool is_host = false;
    iree::Instance instance;
    std::unique_ptr<iree_hal_driver_registry_t, RegistryDeleter> registry;
    iree::HalDevice hal;
    iree::DeviceGroup group;
    iree::Module hal_module;
  };

  static Status opened(iree_status_t status, const State& state) {
    return iree::checked(status, "RT302", "the device '" + state.uri + "' cannot be opened",
                         "check the driver's installation, or choose another device");
  }

  static Status open_in(State& state) {
    const iree_allocator_t allocator = iree_allocator_system();
    TOOLCHAIN_TRY(
        opened(iree_vm_instance_create(IREE_VM_TYPE_CAPACITY_DEFAULT, allocator, state.instance.out()), state));
    TOOLCHAIN_TRY(opened(iree_hal_module_register_all_types(state.instance.get()), state));
    TOOLCHAIN_TRY(create_device(state));
    iree::FrontierTracker tracker;
    const auto options = iree_async_frontier_tracker_options_default();
    TOOLCHAIN_TRY(opened(iree_async_frontier_tracker_create(options, allocator, tracker.out()), state));
    TOOLCHAIN_TRY(opened(
        iree_hal_device_group_create_from_device(state.hal.get(), tracker.get(), allocator, state.group.out()), state));
    return opened(iree_hal_module_create(state.instance.get(), iree_hal_module_device_policy_default(),
                                         state.group.get(), IREE_HAL_MODULE_FLAG_NONE,
                                         iree_hal_module_debug_sink_null(), allocator, state.hal_module.out()),
                  state);
  }

  static Status create_device(State& state) {
    const iree_allocator_t allocator = iree_allocator_system();
    iree_hal_driver_registry_t* registry = nullptr;
    TOOLCHAIN_TRY(opened(iree_hal_driver_registry_allocate(allocator, &registry), state));
    state.registry.reset(registry);
    TOOLCHAIN_TRY(opened(iree_hal_register_all_available_drivers(registry), state));
    iree::ProactorPool pool;
    TOOLCHAIN_TRY(opened(
        iree_async_proactor_pool_create(1, nullptr, iree_async_proactor_pool_options_default(), allocator, pool.out()),
        state));
    iree_hal_device_create_params_t params = iree_hal_device_create_params_default();
    params.proactor_pool = pool.get();
    return opened(iree_hal_create_device(registry, iree::view(state.uri), &params, allocator, state.hal.out()), state);
  }

  std::shared_ptr<const State> state_;
};

}  // namespace toolchain
