#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "toolchain/scalars.h"

namespace toolchain {
namespace {

TEST(Halves, EveryValueComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Float16 half = {static_cast<uint16_t>(bits)};
    const float value = to_float(half);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(to_float(to_float16(value))));
    } else {
      ASSERT_EQ(to_float16(value).bits, half.bits);
    }
    const BFloat16 brain = {static_cast<uint16_t>(bits)};
    if (!std::isnan(to_float(brain))) {
      ASSERT_EQ(to_bfloat16(to_float(brain)).bits, brain.bits);
    }
  }
}

TEST(Halves, RoundToTheNearestTiesToEven) {
  EXPECT_EQ(to_float(to_float16(1 + std::ldexp(1.0, -11))), 1.0f);
  EXPECT_EQ(to_float(to_float16(1 + std::ldexp(3.0, -11))), 1 + std::ldexp(1.0f, -9));
  EXPECT_EQ(to_float(to_float16(1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40))), 1 + std::ldexp(1.0f, -10));
  EXPECT_EQ(to_float16(65519.99).bits, 0x7BFF);
  EXPECT_EQ(to_float16(65520.0).bits, 0x7C00);
  EXPECT_EQ(to_float16(std::ldexp(1.0, -25)).bits, 0);
  EXPECT_EQ(to_float16(std::ldexp(1.5, -25)).bits, 1);
  EXPECT_EQ(to_float16(std::ldexp(2047.0, -25)).bits, 0x400);
  EXPECT_EQ(to_float16(-0.0).bits, 0x8000);
}

template <class T>
std::string encoded(T value, DType dtype) {
  uint8_t bytes[8] = {};
  const Status status = scalars::encode(value, dtype, bytes);
  if (!status) return status.error().exception() + status.error().code();
  return std::to_string(scalars::decode<double>(dtype, bytes));
}

TEST(Elements, HoldWhatFits) {
  EXPECT_EQ(encoded(int64_t{127}, DType::int8), "127.000000");
  EXPECT_EQ(encoded(int64_t{128}, DType::int8), "RuntimeError");
  EXPECT_EQ(encoded(int64_t{-1}, DType::uint8), "RuntimeError");
  EXPECT_EQ(encoded(int64_t{-1}, DType::boolean), "1.000000");
  EXPECT_EQ(encoded(2.9, DType::int32), "2.000000");
  EXPECT_EQ(encoded(std::nan(""), DType::int32), "ValueError");
  EXPECT_EQ(encoded(double{INFINITY}, DType::int64), "OverflowError");
  EXPECT_EQ(encoded(true, DType::float64), "1.000000");
  EXPECT_EQ(encoded(0.1, DType::bfloat16), "0.100098");
  EXPECT_EQ(encoded(0.1, DType::float16), "0.099976");
}

}  // namespace
}  // namespace toolchain
