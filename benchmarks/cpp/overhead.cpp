// What a subgraph call and a decision cost in the C++ host, beyond IREE's own invoke: see benchmarks/cpp_overhead.py.
#include <Tiny.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

namespace {

constexpr int kRounds = 25, kCalls = 2000;

[[noreturn]] void stop(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(1);
}

template <class T>
T need(toolchain::Result<T> result) {
    if (!result) stop(result.error().describe());
    return *std::move(result);
}

// IREE alone: lists filled anew for every call, as they have to be, and nothing else.
class Alone {
 public:
    Alone(const toolchain::Session& session, const toolchain::Tensor& x) : x_(x) {
        const auto& instance = session.bundle().instances().front();
        function_ = instance.function;
        std::vector<iree_vm_module_t*> modules;
        for (const auto& module : instance.modules) modules.push_back(module.get());
        const auto any = iree_vm_make_undefined_type_def();
        const auto allocator = iree_allocator_system();
        check(iree_vm_context_create_with_modules(session.device().instance(), IREE_VM_CONTEXT_FLAG_NONE, modules.size(),
                                                  modules.data(), allocator, context_.out()));
        check(iree_vm_list_create(any, 1, allocator, inputs_.out()));
        check(iree_vm_list_create(any, 2, allocator, outputs_.out()));
    }

    void call() {
        check(iree_vm_list_resize(inputs_.get(), 1));
        check(iree_vm_list_set_buffer_view_retain(inputs_.get(), 0, x_.view()));
        check(iree_vm_invoke(context_.get(), function_, IREE_VM_INVOCATION_FLAG_NONE, nullptr, inputs_.get(),
                             outputs_.get(), iree_allocator_system()));
        iree_vm_list_clear(inputs_.get());
        iree_vm_list_clear(outputs_.get());
    }

 private:
    static void check(iree_status_t status) {
        if (!iree_status_is_ok(status)) stop(toolchain::iree::consume(status));
    }

    toolchain::Tensor x_;
    iree_vm_function_t function_;
    toolchain::iree::Context context_;
    toolchain::iree::List inputs_, outputs_;
};

template <class Run>
double microseconds(const Run& run) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) run();
    const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
    return spent.count() / kCalls;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) stop("usage: overhead BUNDLE");
    Tiny net = need(Tiny::load(argv[1]));
    const toolchain::Session& session = net.session();
    const float ones[4] = {1, 1, 1, 1};
    const auto x = need(toolchain::tensors::upload(session.device(), ones, toolchain::DType::float32, {4}));
    toolchain::Tensor y, p;
    const bool is_second = session.bundle().instances().front().info->results[1] == toolchain::DType::boolean;
    toolchain::Tensor& first = is_second ? y : p;
    toolchain::Tensor& second = is_second ? p : y;
    Alone alone(session, x);

    const auto call = [&] {
        if (auto done = session.call(0, {x}, {&first, &second}); !done) stop(done.error().describe());
    };
    const auto decide = [&] {
        call();
        if (session.decide("entry0", 0, need(toolchain::ops::item<bool>(p)))) stop("wrong decision");
    };
    const toolchain::TensorView view(x);
    const auto network = [&] { need(net(view)); };

    std::array<double, 4> best;
    best.fill(1e9);
    for (int round = 0; round < kRounds; ++round) {
        best[0] = std::min(best[0], microseconds([&] { alone.call(); }));
        best[1] = std::min(best[1], microseconds(call));
        best[2] = std::min(best[2], microseconds(decide));
        best[3] = std::min(best[3], microseconds(network));
    }
    const char* labels[] = {"IREE's invoke alone", "a call", "a call and a decision", "the network, checks included"};
    for (size_t i = 0; i < best.size(); ++i) std::printf("%-30s %7.3f us  %+7.3f\n", labels[i], best[i], best[i] - best[0]);
}
