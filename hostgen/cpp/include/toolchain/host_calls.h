// Functions of the embedding program that a generated program calls.
#pragma once

#include <initializer_list>
#include <string>

#include "toolchain/session.h"

namespace toolchain::host_calls {

// Fails with RT107 if the embedding program has not set `member` of the program's HostCalls, for the function `name`.
template <class Function>
Status require(const Function& function, const char* member, const char* name) {
  if (function) return {};
  return Error("RT107", std::string("the bundle calls ") + name + ", which the embedding program has to supply",
               std::string("pass it to load: set HostCalls::") + member);
}

// Fails with RT309 unless what the function `name` gave is a tensor of this dtype and of these extents (negative: any) on
// the session's device.
inline Status check(const Session& session, const char* name, const Tensor& given, DType dtype,
                    std::initializer_list<int64_t> extents) {
  const Dims expected = extents;
  bool fits = given && given.dtype() == dtype && given.rank() == expected.size();
  for (size_t i = 0; fits && i < expected.size(); ++i) fits = expected[i] < 0 || expected[i] == given.dim(i);
  if (fits && given.device().hal() == session.device().hal()) return {};
  const std::string found = !given ? "no tensor" : describe(given.dtype(), given.dims());
  return Error("RT309",
               std::string("the host call ") + name + " gave " + found + (fits ? " on another device" : "") +
                   ", expected " + describe(dtype, expected),
               "negative extents may be any; declare others with toolchain.host_call(result=...) and build again");
}

}  // namespace toolchain::host_calls
