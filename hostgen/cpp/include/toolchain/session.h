// What a generated program runs on: calls of compiled modules, checked arguments, decisions.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "toolchain/arguments.h"
#include "toolchain/bundle.h"

namespace toolchain {

// A branch that was taken: the function and block of the control-flow graph, and whether its condition held.
struct Decision {
  const char* function;
  int block;
  bool taken;

  friend bool operator==(const Decision& a, const Decision& b) {
    return std::string_view(a.function) == b.function && a.block == b.block && a.taken == b.taken;
  }
};

// An operand of a module; refers to its tensor, which must outlive the call.
class Operand {
 public:
  Operand(const Tensor& tensor) : value_(&tensor) {}
  Operand(bool value) : value_(int64_t{value}) {}
  Operand(int64_t value) : value_(value) {}
  Operand(double value) : value_(value) {}

 private:
  friend class Session;
  std::variant<const Tensor*, int64_t, double> value_;
};

// An execution context for each instance of a bundle.
//
// Lifetime: keeps the bundle alive. Threads: `begin` takes the session's lock, so that runs on several threads take
// turns; everything else may only be used during a run. `clone` gives a thread a session of its own.
class Session {
 public:
  // A run of the program: while it lives, the session belongs to its thread. Must not outlive the session.
  class [[nodiscard]] Run {
   public:
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() { session_.core_->borrowed.clear(); }

   private:
    friend class Session;
    Run(const Session& session, bool copies_inputs) : session_(session), lock_(session.core_->mutex) {
      session.core_->copies_inputs = copies_inputs;
    }

    const Session& session_;
    std::unique_lock<std::mutex> lock_;
  };

  // Fails with RT303 if IREE rejects a module.
  static Result<Session> create(std::shared_ptr<const Bundle> bundle) {
    Session session(std::move(bundle));
    for (const Bundle::Instance& instance : session.bundle_->instances()) {
      TOOLCHAIN_TRY(session.add_callee(instance));
    }
    return session;
  }

  // A session with the same device, code and weights, but contexts of its own. Fails with RT303.
  Result<Session> clone() const { return create(bundle_); }

  // copies_inputs: whether `input` copies in any case, because arguments may become state.
  Run begin(bool copies_inputs) const { return Run(*this, copies_inputs); }

  const Bundle& bundle() const { return *bundle_; }
  const Device& device() const { return bundle_->device(); }
  // The weight at this position of `BundleInfo::constants`.
  const Tensor& constant(size_t index) const { return bundle_->constant(index); }

  // An argument on the device; shares the caller's memory where the device allows it. Fails with RT202 (dtype, or a
  // tensor of another device), RT203 (rank, extent), RT304.
  Result<Tensor> input(const TensorView& view, const InputInfo& expected) const {
    TOOLCHAIN_TRY(arguments::check(view, expected));
    if (view.tensor()) {
      if (view.tensor().device().hal() == device().hal()) return view.tensor();
      return arguments::misfit("RT202", expected, "a tensor on this device", "one on another");
    }
    if (core_->copies_inputs || !tensors::can_share(device(), view.data(), view.byte_length())) {
      return tensors::upload(device(), view.data(), view.dtype(), view.dims());
    }
    TOOLCHAIN_ASSIGN(Tensor tensor, tensors::share(device(), view.data(), view.dtype(), view.dims(), nullptr));
    core_->borrowed.push_back(tensor);
    return tensor;
  }

  // A result for the caller: `tensor` itself, or a copy if it shares the memory of an argument. Fails with RT304.
  Result<Tensor> output(const Tensor& tensor) const {
    const auto storage = [](const Tensor& t) { return iree_hal_buffer_allocated_buffer(t.buffer()); };
    const auto& borrowed = core_->borrowed;
    const bool shares = std::any_of(borrowed.begin(), borrowed.end(),
                                    [&](const Tensor& argument) { return storage(argument) == storage(tensor); });
    if (!shares) return tensor;
    std::vector<uint8_t> bytes(tensor.byte_length());
    TOOLCHAIN_TRY(tensor.read(bytes.data()));
    return tensors::upload(device(), bytes.data(), tensor.dtype(), tensor.dims());
  }

  // Runs an instance; `results` are as many as its module has. Fails with RT304.
  Status call(size_t instance, std::initializer_list<Operand> operands, std::initializer_list<Tensor*> results) const {
    Callee& callee = core_->callees[instance];
    const Bundle::Instance& target = bundle_->instances()[instance];
    iree_status_t status = set_operands(callee, *target.info, operands);
    if (iree_status_is_ok(status)) {
      status = iree_vm_invoke(callee.context.get(), target.function, IREE_VM_INVOCATION_FLAG_NONE, nullptr,
                              callee.inputs.get(), callee.outputs.get(), iree_allocator_system());
    }
    // Arguments must not stay alive until the next call.
    iree_vm_list_clear(callee.inputs.get());
    if (!iree_status_is_ok(status)) return failed(*target.info, iree::consume(status));
    Status taken = take_results(callee, *target.info, results);
    iree_vm_list_clear(callee.outputs.get());
    return taken;
  }

  // `condition`, which is appended to the trace if there is one.
  bool decide(const char* function, int block, bool condition) const {
    if (core_->trace) core_->trace->push_back({function, block, condition});
    return condition;
  }

  // From the next run on, decisions are appended to `trace`, which must outlive that; null: to none.
  void record(std::vector<Decision>* trace) const {
    const std::lock_guard<std::mutex> lock(core_->mutex);
    core_->trace = trace;
  }

 private:
  struct Callee {
    iree::Context context;
    iree::List inputs, outputs;
  };
  struct Core {
    std::mutex mutex;
    std::vector<Callee> callees;
    std::vector<Tensor> borrowed;
    bool copies_inputs = false;
    std::vector<Decision>* trace = nullptr;
  };

  explicit Session(std::shared_ptr<const Bundle> bundle) : bundle_(std::move(bundle)), core_(new Core) {}

  Status add_callee(const Bundle::Instance& instance) {
    const iree_allocator_t allocator = iree_allocator_system();
    const auto checked = [&](iree_status_t status) {
      return iree::checked(status, "RT303", std::string("IREE rejects module '") + instance.info->id + "'",
                           std::string("it was compiled by IREE ") + bundle_->info().iree +
                               "; the linked runtime must match");
    };
    std::vector<iree_vm_module_t*> modules;
    for (const iree::Module& module : instance.modules) modules.push_back(module.get());
    Callee callee;
    TOOLCHAIN_TRY(checked(iree_vm_context_create_with_modules(device().instance(), IREE_VM_CONTEXT_FLAG_NONE,
                                                              modules.size(), modules.data(), allocator,
                                                              callee.context.out())));
    const iree_vm_type_def_t any = iree_vm_make_undefined_type_def();
    const size_t arity = std::string_view(instance.info->parameters).size();
    TOOLCHAIN_TRY(checked(iree_vm_list_create(any, arity, allocator, callee.inputs.out())));
    TOOLCHAIN_TRY(checked(iree_vm_list_create(any, instance.info->results.size(), allocator, callee.outputs.out())));
    core_->callees.push_back(std::move(callee));
    return {};
  }

  static iree_status_t set_operands(Callee& callee, const ModuleInfo& module,
                                    std::initializer_list<Operand> operands) {
    iree_vm_list_t* list = callee.inputs.get();
    iree_status_t status = iree_vm_list_resize(list, operands.size());
    const char* kind = module.parameters;
    size_t i = 0;
    for (auto operand = operands.begin(); operand != operands.end() && iree_status_is_ok(status); ++operand) {
      status = set_operand(list, i++, *kind++, *operand);
    }
    return status;
  }

  static iree_status_t set_operand(iree_vm_list_t* list, size_t index, char kind, const Operand& operand) {
    if (const auto* tensor = std::get_if<const Tensor*>(&operand.value_)) {
      return iree_vm_list_set_buffer_view_retain(list, index, (*tensor)->view());
    }
    const auto* integer = std::get_if<int64_t>(&operand.value_);
    const double number = integer ? static_cast<double>(*integer) : *std::get_if<double>(&operand.value_);
    // A Python int may be passed where the module takes a float.
    const auto value = kind == 'f' ? iree_vm_value_make_f64(number) : iree_vm_value_make_i64(integer ? *integer : 0);
    return iree_vm_list_set_value(list, index, &value);
  }

  // Modules forget that an integer is unsigned; the bundle knows.
  Status take_results(const Callee& callee, const ModuleInfo& module, std::initializer_list<Tensor*> results) const {
    size_t i = 0;
    for (Tensor* result : results) {
      iree::BufferView view(iree_vm_list_get_buffer_view_retain(callee.outputs.get(), i));
      const DType dtype = module.results[i++];
      if (!view || (iree_hal_buffer_view_element_type(view.get()) & 0xFF) != 8 * size_of(dtype)) {
        return failed(module, std::string("result ") + std::to_string(i) + " is no tensor of " + name_of(dtype));
      }
      *result = Tensor(device(), std::move(view), dtype);
    }
    return {};
  }

  static Error failed(const ModuleInfo& module, const std::string& why) {
    return Error("RT304", std::string("module '") + module.id + "' (" + module.places + ") failed: " + why);
  }

  std::shared_ptr<const Bundle> bundle_;
  std::unique_ptr<Core> core_;
};

}  // namespace toolchain
