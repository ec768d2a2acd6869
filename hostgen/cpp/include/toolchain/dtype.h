// Element types: PyTorch's names and the C++ types that hold one element.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace toolchain {

enum class DType : uint8_t { boolean, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64 };

// The bits of a 16-bit float; `to_float` and the functions below convert.
struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

struct DTypeTraits {
  const char* name;     // PyTorch's, without "torch."
  size_t size;          // bytes of an element
  uint32_t element;     // IREE's number of the element type
};

constexpr DTypeTraits traits(DType dtype) {
  constexpr DTypeTraits all[] = {
      {"bool", 1, 0x13000008},    {"uint8", 1, 0x12000008},    {"int8", 1, 0x11000008},    {"int16", 2, 0x11000010},
      {"int32", 4, 0x11000020},   {"int64", 8, 0x11000040},    {"float16", 2, 0x21000010}, {"bfloat16", 2, 0x22000010},
      {"float32", 4, 0x21000020}, {"float64", 8, 0x21000040},
  };
  return all[static_cast<size_t>(dtype)];
}

constexpr const char* name_of(DType dtype) { return traits(dtype).name; }
constexpr size_t size_of(DType dtype) { return traits(dtype).size; }

// The element type that holds a C++ type: dtype_of<float>() is DType::float32.
template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<bool>() { return DType::boolean; }
template <>
constexpr DType dtype_of<uint8_t>() { return DType::uint8; }
template <>
constexpr DType dtype_of<int8_t>() { return DType::int8; }
template <>
constexpr DType dtype_of<int16_t>() { return DType::int16; }
template <>
constexpr DType dtype_of<int32_t>() { return DType::int32; }
template <>
constexpr DType dtype_of<int64_t>() { return DType::int64; }
template <>
constexpr DType dtype_of<Float16>() { return DType::float16; }
template <>
constexpr DType dtype_of<BFloat16>() { return DType::bfloat16; }
template <>
constexpr DType dtype_of<float>() { return DType::float32; }
template <>
constexpr DType dtype_of<double>() { return DType::float64; }

inline float to_float(BFloat16 value) {
  const uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

inline float to_float(Float16 value) {
  const float sign = value.bits & 0x8000 ? -1.0f : 1.0f;
  const int exponent = value.bits >> 10 & 0x1F;
  const int mantissa = value.bits & 0x3FF;
  if (exponent == 0x1F) return mantissa ? std::nanf("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 0x400), exponent - 25);
}

// To the nearest, ties to even.
inline BFloat16 to_bfloat16(float value) {
  if (std::isnan(value)) return {0x7FC0};
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return {static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
}

// To the nearest, ties to even.
inline Float16 to_float16(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return {static_cast<uint16_t>(sign | 0x7E00)};
  if (magnitude >= 65520) return {static_cast<uint16_t>(sign | 0x7C00)};
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // The distance of neighbouring values is 2^(exponent - 11), but never below 2^-24: that of the smallest ones.
  const int step = magnitude == 0 || exponent < -13 ? -24 : exponent - 11;
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -step)));
  // Rounding up to the next power of two carries into the exponent's bits, as it should.
  const uint32_t bits = step == -24 ? units : units - 0x400 + (static_cast<uint32_t>(step + 25) << 10);
  return {static_cast<uint16_t>(sign | bits)};
}

}  // namespace toolchain
