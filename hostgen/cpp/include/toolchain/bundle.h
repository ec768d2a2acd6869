// A loaded bundle: files checked and mapped, modules and weights bound for one device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "toolchain/device.h"
#include "toolchain/files.h"
#include "toolchain/targets.h"
#include "toolchain/tensor.h"

namespace toolchain {

// target:        a target of the bundle, or empty for the best one that the device and this processor run.
// verify_hashes: reads every file once to see that it is unchanged; sizes are checked in any case.
struct LoadOptions {
  std::string target;
  bool verify_hashes = true;
};

// What all sessions of a bundle share; nothing in it changes after loading.
//
// Lifetime: sessions, and tensors over its weights, keep it (or the mapped files) alive; `info` must outlive it.
// Threads: any number may use one bundle.
class Bundle {
 public:
  // A module with its weights: what a session makes a context of.
  struct Instance {
    const ModuleInfo* info;
    std::vector<iree::Module> modules;  // in the order in which a context needs them; the last one has the function
    iree_vm_function_t function;
  };

  // Fails with RT1xx for a damaged bundle, RT301 if it cannot run here, RT303 if IREE rejects a module.
  static Result<std::shared_ptr<const Bundle>> open(const std::string& folder, const BundleInfo& info,
                                                    const Device& device, const LoadOptions& options = {}) {
    TOOLCHAIN_ASSIGN(const size_t target, target_for(info, device, options));
    if (std::error_code error; !std::filesystem::is_regular_file(folder + "/manifest.json", error)) {
      return Error("RT101", folder + " is not a bundle: it has no manifest.json");
    }
    std::shared_ptr<Bundle> bundle(new Bundle(info, device, info.targets[target].name));
    TOOLCHAIN_TRY(bundle->open_archive(folder, options));
    TOOLCHAIN_TRY(bundle->open_modules(folder, target, options));
    TOOLCHAIN_TRY(bundle->bind_instances());
    TOOLCHAIN_TRY(bundle->make_constants());
    return std::shared_ptr<const Bundle>(std::move(bundle));
  }

  const BundleInfo& info() const { return info_; }
  const Device& device() const { return device_; }
  // The target that was chosen, e.g. "cpu:x86-64-v3".
  const std::string& target() const { return target_; }
  const std::vector<Instance>& instances() const { return instances_; }
  // The weight at this position of `BundleInfo::constants`.
  const Tensor& constant(size_t index) const { return constants_[index]; }

 private:
  struct Code {
    std::shared_ptr<const MappedFile> file;
    iree::Module module;
  };

  Bundle(const BundleInfo& info, const Device& device, std::string target)
      : info_(info), device_(device), target_(std::move(target)) {}

  static Result<size_t> target_for(const BundleInfo& info, const Device& device, const LoadOptions& options) {
    const std::string& wanted = options.target.empty() ? device.kind() : options.target;
    TOOLCHAIN_ASSIGN(const size_t target, choose_target(info, wanted, cpu_flags()));
    if (kind_of(info.targets[target].name) == device.kind()) return target;
    return Error("RT301", "the device '" + device.uri() + "' does not run target '" + wanted + "'",
                 "open a device of that kind");
  }

  Error rejected(const ModuleInfo& module, iree_status_t status) const {
    return Error("RT303", std::string("IREE rejects module '") + module.id + "': " + iree::consume(status),
                 std::string("it was compiled by IREE ") + info_.iree + "; the linked runtime must match");
  }

  Status open_archive(const std::string& folder, const LoadOptions& options) {
    if (!info_.archive.path) return {};
    TOOLCHAIN_ASSIGN(archive_, open_checked(folder, info_.archive, options.verify_hashes));
    for (const WeightInfo& weight : info_.weights) {
      if (weight.length > archive_->size() || weight.offset > archive_->size() - weight.length) {
        return bundle_error("RT102", std::string("weight '") + weight.name + "' lies outside of " + info_.archive.path);
      }
    }
    const auto span = iree_make_byte_span(const_cast<uint8_t*>(archive_->data()), archive_->size());
    // Keeps the mapping for as long as IREE has the handle.
    auto owner = std::make_unique<std::shared_ptr<const MappedFile>>(archive_);
    iree_io_file_handle_release_callback_t release = {};
    release.fn = [](void* user_data, iree_io_file_handle_primitive_t) {
      delete static_cast<std::shared_ptr<const MappedFile>*>(user_data);
    };
    release.user_data = owner.get();
    TOOLCHAIN_TRY(iree::checked(iree_io_file_handle_wrap_host_allocation(IREE_IO_FILE_ACCESS_READ, span, release,
                                                                         iree_allocator_system(), handle_.out()),
                                "RT303", "IREE cannot use the weights"));
    owner.release();
    return {};
  }

  Status open_modules(const std::string& folder, size_t target, const LoadOptions& options) {
    for (const ModuleInfo& module : info_.modules) {
      const FileInfo& file = module.files[target];
      if (!file.path) {
        return bundle_error("RT102", std::string("module '") + module.id + "' has no file for " + target_);
      }
      Code code;
      TOOLCHAIN_ASSIGN(code.file, open_checked(folder, file, options.verify_hashes));
      const auto bytes = iree_make_const_byte_span(code.file->data(), code.file->size());
      iree_status_t status =
          iree_vm_bytecode_module_create(device_.instance(), IREE_VM_BYTECODE_MODULE_FLAG_NONE, bytes,
                                         iree_allocator_null(), iree_allocator_system(), code.module.out());
      if (!iree_status_is_ok(status)) return rejected(module, status);
      codes_.push_back(std::move(code));
    }
    return {};
  }

  Status bind_instances() {
    for (const InstanceInfo& info : info_.instances) {
      const ModuleInfo& module = info_.modules[info.module];
      iree::Module hal(device_.hal_module());
      iree_vm_module_retain(hal.get());
      Instance instance = {&module, {std::move(hal)}, {}};
      if (!info.weights.empty()) {
        TOOLCHAIN_ASSIGN(iree::Module parameters, bind_weights(info.weights));
        instance.modules.push_back(std::move(parameters));
      }
      instance.modules.push_back(codes_[info.module].module);
      iree_status_t status =
          iree_vm_module_lookup_function_by_name(instance.modules.back().get(), IREE_VM_FUNCTION_LINKAGE_EXPORT,
                                                 iree::view(module.function), &instance.function);
      if (!iree_status_is_ok(status)) return rejected(module, status);
      instances_.push_back(std::move(instance));
    }
    return {};
  }

  // The key under which a module asks for its weight at this position, in scope "model".
  static std::string parameter_key(size_t index) {
    const std::string digits = std::to_string(index);
    return "w" + std::string(63 - digits.size(), '0') + digits;
  }

  // IREE's module that serves these weights as parameters from the mapped archive.
  Result<iree::Module> bind_weights(Span<uint32_t> weights) const {
    const auto bound = [](iree_status_t status) { return iree::checked(status, "RT303", "IREE cannot use the weights"); };
    const iree_allocator_t allocator = iree_allocator_system();
    iree::ParameterIndex index;
    TOOLCHAIN_TRY(bound(iree_io_parameter_index_create(allocator, index.out())));
    for (size_t i = 0; i < weights.size(); ++i) {
      const std::string key = parameter_key(i);
      iree_io_parameter_index_entry_t entry = {};
      entry.key = iree::view(key);
      entry.length = info_.weights[weights[i]].length;
      entry.type = IREE_IO_PARAMETER_INDEX_ENTRY_STORAGE_TYPE_FILE;
      entry.storage.file.handle = handle_.get();
      entry.storage.file.offset = info_.weights[weights[i]].offset;
      TOOLCHAIN_TRY(bound(iree_io_parameter_index_add(index.get(), &entry)));
    }
    iree::ParameterProvider provider;
    TOOLCHAIN_TRY(bound(iree_io_parameter_index_provider_create(
        iree::view("model"), index.get(), IREE_IO_PARAMETER_INDEX_PROVIDER_DEFAULT_MAX_CONCURRENT_OPERATIONS, allocator,
        provider.out())));
    iree_io_parameter_provider_t* providers[] = {provider.get()};
    iree::Module module;
    TOOLCHAIN_TRY(bound(iree_io_parameters_module_create(device_.instance(), 1, providers, allocator, module.out())));
    return module;
  }

  Status make_constants() {
    for (uint32_t index : info_.constants) {
      const WeightInfo& weight = info_.weights[index];
      const uint8_t* data = archive_->data() + weight.offset;
      const Dims dims(weight.dims.begin(), weight.dims.end());
      TOOLCHAIN_ASSIGN(Tensor tensor, tensors::can_share(device_, data, weight.length)
                                          ? tensors::share(device_, data, weight.dtype, dims, archive_)
                                          : tensors::upload(device_, data, weight.dtype, dims));
      constants_.push_back(std::move(tensor));
    }
    return {};
  }

  const BundleInfo& info_;
  Device device_;
  std::string target_;
  std::shared_ptr<const MappedFile> archive_;
  iree::FileHandle handle_;
  std::vector<Code> codes_;
  std::vector<Instance> instances_;
  std::vector<Tensor> constants_;
};

}  // namespace toolchain
