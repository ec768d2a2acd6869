#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "toolchain/error.h"
#include "toolchain/hostops_text.h"

namespace toolchain {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return Error("RT304", "odd", "pass an even one");
  return value / 2;
}

Result<int> quarter(int value) {
  TOOLCHAIN_ASSIGN(const int first, half(value));
  TOOLCHAIN_ASSIGN(int second, half(first));
  return second;
}

Status even(int value) {
  TOOLCHAIN_TRY(half(value));
  return {};
}

Result<std::tuple<int, std::string>> pair() { return std::tuple<int, std::string>(1, "one"); }

Result<std::string> name() {
  int number = 0;
  std::string text;
  TOOLCHAIN_ASSIGN(std::tie(number, text), pair());
  return text + std::to_string(number);
}

TEST(Errors, PassThroughTheMacros) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).error().code(), "RT304");
  EXPECT_TRUE(even(2));
  EXPECT_EQ(even(3).error().message(), "odd");
  EXPECT_EQ(*name(), "one1");
}

TEST(Errors, DescribeThemselves) {
  EXPECT_EQ(half(1).error().describe(), "[RT304] odd\n  hint: pass an even one");
  EXPECT_EQ(Error("RT101", "none").describe(), "[RT101] none");
  EXPECT_EQ(Error::raised("ValueError", "bad").describe(), "ValueError: bad");
  EXPECT_EQ(Error::raised("ValueError", "").describe(), "ValueError");
}

TEST(Errors, TextOfAnExceptionIsPythons) {
  EXPECT_EQ(ops::raise("ValueError").message(), "");
  EXPECT_EQ(ops::raise("ValueError", std::string("it's")).message(), "it's");
  EXPECT_EQ(ops::raise("KeyError", std::string("it's")).message(), "\"it's\"");
  EXPECT_EQ(ops::raise("ValueError", true, 1.0, std::string("x")).message(), "(True, 1.0, 'x')");
  EXPECT_EQ(ops::raise("IndexError", int64_t{3}).exception(), "IndexError");
}

TEST(Errors, WarningsGoToTheHandler) {
  static std::string seen;
  const ops::WarningHandler before = ops::warning_handler().load();
  ops::warning_handler() = [](const char* category, const std::string& text) { seen = category + (" " + text); };
  ops::warn("careful", "UserWarning");
  ops::warning_handler() = before;
  EXPECT_EQ(seen, "UserWarning careful");
}

}  // namespace
}  // namespace toolchain
