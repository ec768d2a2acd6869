// Elements of tensors from and to host scalars (bool, int64_t, double).
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>

#include "toolchain/dtype.h"
#include "toolchain/hostops_math.h"

namespace toolchain::scalars {

template <class T>
T load(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

// The element of `dtype` at `data` as T.
template <class T>
T decode(DType dtype, const void* data) {
  switch (dtype) {
    case DType::boolean: return static_cast<T>(load<uint8_t>(data) != 0);
    case DType::uint8: return static_cast<T>(load<uint8_t>(data));
    case DType::int8: return static_cast<T>(load<int8_t>(data));
    case DType::int16: return static_cast<T>(load<int16_t>(data));
    case DType::int32: return static_cast<T>(load<int32_t>(data));
    case DType::int64: return static_cast<T>(load<int64_t>(data));
    case DType::float16: return static_cast<T>(to_float(load<Float16>(data)));
    case DType::bfloat16: return static_cast<T>(to_float(load<BFloat16>(data)));
    case DType::float32: return static_cast<T>(load<float>(data));
    case DType::float64: break;
  }
  return static_cast<T>(load<double>(data));
}

inline Error does_not_fit(DType dtype) {
  return Error::raised("RuntimeError",
                       std::string("value cannot be converted to type ") + name_of(dtype) + " without overflow");
}

template <class Element>
Status store_int(int64_t value, DType dtype, void* target) {
  const auto element = static_cast<Element>(value);
  if (element != value) return does_not_fit(dtype);
  std::memcpy(target, &element, sizeof element);
  return {};
}

inline Status encode_int(int64_t value, DType dtype, void* target) {
  switch (dtype) {
    case DType::uint8: return store_int<uint8_t>(value, dtype, target);
    case DType::int8: return store_int<int8_t>(value, dtype, target);
    case DType::int16: return store_int<int16_t>(value, dtype, target);
    case DType::int32: return store_int<int32_t>(value, dtype, target);
    default: return store_int<int64_t>(value, dtype, target);
  }
}

template <class Element>
Status store(Element element, void* target) {
  std::memcpy(target, &element, sizeof element);
  return {};
}

// Writes `value` as an element of `dtype`. Floats lose their fraction in integers. Fails with what Python's host raises:
// RuntimeError for an integer that does not fit, ValueError or OverflowError for a float without an integer value.
template <class T>
Status encode(T value, DType dtype, void* target) {
  switch (dtype) {
    case DType::boolean: return store(static_cast<uint8_t>(value != T{}), target);
    case DType::float16: return store(to_float16(static_cast<double>(value)), target);
    case DType::bfloat16: return store(to_bfloat16(static_cast<float>(value)), target);
    case DType::float32: return store(static_cast<float>(value), target);
    case DType::float64: return store(static_cast<double>(value), target);
    default: break;
  }
  if constexpr (std::is_same_v<T, double>) {
    TOOLCHAIN_ASSIGN(const int64_t whole, ops::trunc(value));
    return encode_int(whole, dtype, target);
  } else {
    return encode_int(int64_t{value}, dtype, target);
  }
}

}  // namespace toolchain::scalars
