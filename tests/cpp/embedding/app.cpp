#include <EarlyExit.h>

#include <cstdio>
#include <vector>

int fail(const toolchain::Error& error) {
    std::fprintf(stderr, "%s\n", error.describe().c_str());
    return 1;
}

int main() {
    auto net = EarlyExit::load("early.bundle");
    if (!net) return fail(net.error());

    const std::vector<float> x(8, 1.0f);
    auto result = (*net)(toolchain::TensorView(x.data(), {1, 8}));
    if (!result) return fail(result.error());

    const auto& [logits, exit] = *result;
    auto values = logits.to_vector<float>();
    if (!values) return fail(values.error());
    for (float value : *values) std::printf("%.3f\n", value);
    std::printf("exit %lld\n", static_cast<long long>(exit));
}
