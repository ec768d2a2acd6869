// Arguments of an entry: checked before anything runs, and written back to where the program changes them.
#pragma once

#include <string>
#include <vector>

#include "toolchain/bundle_info.h"
#include "toolchain/error.h"
#include "toolchain/tensor.h"

namespace toolchain {

namespace arguments {

inline std::string extents(const DimInfo& dim) {
  if (dim.minimum == dim.maximum) return std::to_string(dim.minimum);
  if (dim.maximum < 0) return "at least " + std::to_string(dim.minimum);
  return std::to_string(dim.minimum) + " to " + std::to_string(dim.maximum);
}

inline Error misfit(const char* code, const InputInfo& expected, const std::string& wanted, const std::string& found) {
  return Error(code, std::string("argument '") + expected.name + "': expected " + wanted + ", found " + found,
               "build with an example of this kind, or convert the argument");
}

// Fails with RT202 for another dtype, RT203 for another rank or an extent outside of its bounds.
inline Status check(const TensorView& view, const InputInfo& expected) {
  if (view.dtype() != expected.dtype) {
    return misfit("RT202", expected, name_of(expected.dtype), name_of(view.dtype()));
  }
  const Dims& dims = view.dims();
  if (dims.size() != expected.dims.size()) {
    return misfit("RT203", expected, std::to_string(expected.dims.size()) + " dimensions", std::to_string(dims.size()));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const DimInfo& dim = expected.dims[i];
    if (dims[i] < dim.minimum || (dim.maximum >= 0 && dims[i] > dim.maximum) || dims[i] < 0) {
      return misfit("RT203", expected, "extent " + extents(dim) + " in dimension " + std::to_string(i),
                    std::to_string(dims[i]));
    }
  }
  return {};
}

}  // namespace arguments

// A new value for an argument that the program changes in place; `store` it when all of them have been made, since one
// may be computed from another.
class PendingWrite {
 public:
  // Reads the new value. `name` says which argument it is. Fails with RT205 if dtype or shape differs, else with RT304.
  static Result<PendingWrite> make(const MutableTensorView& target, const Tensor& value, const char* name) {
    if (value.dtype() != target.dtype() || value.dims() != target.dims()) {
      return Error("RT205",
                   std::string("argument '") + name + "' would change from " +
                       describe(target.dtype(), target.dims()) + " to " + describe(value.dtype(), value.dims()),
                   "an argument can be changed in place, but not its shape or dtype");
    }
    PendingWrite write(target.target(), value.byte_length());
    TOOLCHAIN_TRY(value.read(write.bytes_.data()));
    return write;
  }

  void store() const {
    if (!bytes_.empty()) std::memcpy(target_, bytes_.data(), bytes_.size());
  }

 private:
  PendingWrite(void* target, size_t size) : target_(target), bytes_(size) {}

  void* target_;
  std::vector<uint8_t> bytes_;
};

}  // namespace toolchain
