// What a generated program knows about its bundle: constant tables, so that nothing needs to be parsed at run time.
#pragma once

#include <cstdint>

#include "toolchain/dtype.h"
#include "toolchain/span.h"

namespace toolchain {

// A file of the bundle. `path` is relative to the bundle's folder; null if there is no such file.
struct FileInfo {
  const char* path = nullptr;
  uint64_t size = 0;
  const char* sha256 = "";
};

// A target that the bundle was built for, e.g. "cpu:x86-64-v3", with the CPU flags (as /proc/cpuinfo spells them) that a
// machine needs for it.
struct TargetInfo {
  const char* name;
  Span<const char*> flags;
};

// A compiled subgraph. `places` are the user's source lines, for messages; `parameters` has a letter for each operand:
// 't'ensor, 'i'nt (64 bits) or 'f'loat (double); `files` has one entry for each of the bundle's targets.
struct ModuleInfo {
  const char* id;
  const char* function;
  const char* places;
  const char* parameters;
  Span<DType> results;
  Span<FileInfo> files;
};

// A module with its weights bound: positions in `BundleInfo::modules` and `BundleInfo::weights`.
struct InstanceInfo {
  uint32_t module;
  Span<uint32_t> weights;
};

// A constant tensor in the archive.
struct WeightInfo {
  const char* name;
  DType dtype;
  Span<int64_t> dims;
  uint64_t offset;
  uint64_t length;
};

// `constants` are the weights that host code itself reads; `iree` is the version of the compiler.
struct BundleInfo {
  const char* name;
  const char* iree;
  Span<TargetInfo> targets;
  Span<ModuleInfo> modules;
  Span<InstanceInfo> instances;
  Span<WeightInfo> weights;
  Span<uint32_t> constants;
  FileInfo archive;
};

// What one dimension of an input may be: minimum..maximum, both inclusive; no upper bound if maximum is negative.
struct DimInfo {
  int64_t minimum;
  int64_t maximum;
};

// A tensor that an entry takes.
struct InputInfo {
  const char* name;
  DType dtype;
  Span<DimInfo> dims;
};

}  // namespace toolchain
