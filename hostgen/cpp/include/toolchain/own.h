// Results that outlive the arguments of their call.
#pragma once

#include <tuple>
#include <vector>

#include "toolchain/session.h"

namespace toolchain {

namespace results {

template <class T>
Status own_one(const Session&, T&) {
  return {};
}

inline Status own_one(const Session& session, Tensor& tensor) {
  TOOLCHAIN_ASSIGN(tensor, session.output(tensor));
  return {};
}

template <class... T>
Status own_one(const Session& session, std::tuple<T...>& items);

template <class T>
Status own_one(const Session& session, std::vector<T>& elements) {
  for (T& element : elements) TOOLCHAIN_TRY(own_one(session, element));
  return {};
}

template <class... T>
Status own_one(const Session& session, std::tuple<T...>& items) {
  return std::apply([&](T&... item) { return own(session, item...); }, items);
}

}  // namespace results

// Makes tensors, alone or in lists and tuples, own their memory where they share that of an argument. Fails with RT304.
inline Status own(const Session&) { return {}; }

template <class First, class... Others>
Status own(const Session& session, First& first, Others&... others) {
  TOOLCHAIN_TRY(results::own_one(session, first));
  return own(session, others...);
}

}  // namespace toolchain
