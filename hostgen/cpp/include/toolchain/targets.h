// Which of a bundle's targets this machine runs.
#pragma once

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "toolchain/bundle_info.h"
#include "toolchain/error.h"

namespace toolchain {

using Flags = std::set<std::string, std::less<>>;

// The flags of the first processor in the text of /proc/cpuinfo; none if there are none.
inline Flags cpu_flags(std::istream& cpuinfo) {
  for (std::string line; std::getline(cpuinfo, line);) {
    const size_t colon = line.find(':');
    const std::string_view key = std::string_view(line).substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (colon == std::string::npos || (key != "flags" && key != "Features")) continue;
    std::istringstream words(line.substr(colon + 1));
    return Flags(std::istream_iterator<std::string>(words), {});
  }
  return {};
}

inline Flags cpu_flags() {
  std::ifstream file("/proc/cpuinfo");
  return cpu_flags(file);
}

inline std::string_view kind_of(std::string_view target) { return target.substr(0, target.find(':')); }

inline std::string missing_flags(const TargetInfo& target, const Flags& here) {
  std::string missing;
  for (const char* flag : target.flags) {
    if (here.count(flag) == 0) missing += (missing.empty() ? "" : ", ") + std::string(flag);
  }
  return missing;
}

// The position of the target to load: `wanted` is its full name or a kind. Among several of one kind it is the one that
// needs the most CPU flags of those whose flags are all in `here`. Fails with RT301.
inline Result<size_t> choose_target(const BundleInfo& bundle, std::string_view wanted, const Flags& here) {
  std::string names, problems;
  const TargetInfo* best = nullptr;
  for (const TargetInfo& target : bundle.targets) {
    names += (names.empty() ? "" : ", ") + std::string(target.name);
    if (wanted != target.name && wanted != kind_of(target.name)) continue;
    const std::string missing = missing_flags(target, here);
    if (!missing.empty()) {
      problems += (problems.empty() ? "" : "; ") + std::string(target.name) + " needs " + missing;
    } else if (!best || target.flags.size() > best->flags.size()) {
      best = &target;
    }
  }
  if (best) return static_cast<size_t>(best - bundle.targets.begin());
  if (!problems.empty()) {
    return Error("RT301", "this processor runs none of the bundle's modules: " + problems, "build for cpu:generic");
  }
  return Error("RT301", "the bundle has no target '" + std::string(wanted) + "', only " + names,
               "load one of these, or build with another --target");
}

}  // namespace toolchain
