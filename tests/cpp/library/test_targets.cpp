#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "toolchain/targets.h"

namespace toolchain {
namespace {

constexpr const char* kAvx2[] = {"avx2"};
constexpr const char* kAvx512[] = {"avx2", "avx512f"};
constexpr TargetInfo kTargets[] = {
    {"cpu:generic", {}}, {"cpu:x86-64-v4", kAvx512}, {"cpu:x86-64-v3", kAvx2}, {"vulkan", {}}};
constexpr BundleInfo kBundle = {"net", "3.9", kTargets, {}, {}, {}, {}, {}};
constexpr TargetInfo kDemanding[] = {{"cpu:x86-64-v4", kAvx512}};
constexpr BundleInfo kDemandingBundle = {"net", "3.9", kDemanding, {}, {}, {}, {}, {}};

std::string chosen(const BundleInfo& bundle, const char* wanted, const Flags& flags) {
  const auto target = choose_target(bundle, wanted, flags);
  return target ? bundle.targets[*target].name : target.error().describe();
}

TEST(Targets, TheMostDemandingOneThatRunsIsChosen) {
  EXPECT_EQ(chosen(kBundle, "cpu", {"avx2", "avx512f", "sse"}), "cpu:x86-64-v4");
  EXPECT_EQ(chosen(kBundle, "cpu", {"avx2"}), "cpu:x86-64-v3");
  EXPECT_EQ(chosen(kBundle, "cpu", {}), "cpu:generic");
  EXPECT_EQ(chosen(kBundle, "cpu:x86-64-v3", {"avx2", "avx512f"}), "cpu:x86-64-v3");
  EXPECT_EQ(chosen(kBundle, "vulkan", {}), "vulkan");
}

TEST(Targets, OnesThatDoNotRunHereAreRefused) {
  EXPECT_EQ(chosen(kDemandingBundle, "cpu", {"avx2"}),
            "[RT301] this processor runs none of the bundle's modules: cpu:x86-64-v4 needs avx512f\n"
            "  hint: build for cpu:generic");
  EXPECT_EQ(chosen(kDemandingBundle, "cuda", {"avx2"}),
            "[RT301] the bundle has no target 'cuda', only cpu:x86-64-v4\n"
            "  hint: load one of these, or build with another --target");
}

TEST(Targets, FlagsAreThoseOfTheFirstProcessor) {
  std::istringstream x86("processor\t: 0\nflags\t\t: fpu avx2\n\nprocessor\t: 1\nflags\t\t: fpu\n");
  EXPECT_EQ(cpu_flags(x86), (Flags{"fpu", "avx2"}));
  std::istringstream arm("Features\t: asimd sve\n");
  EXPECT_EQ(cpu_flags(arm), (Flags{"asimd", "sve"}));
  std::istringstream none("no such line\n:\n");
  EXPECT_TRUE(cpu_flags(none).empty());
  EXPECT_FALSE(cpu_flags().empty());
}

}  // namespace
}  // namespace toolchain
