// Floats as Python writes them.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace toolchain {

namespace pyfloat {

// A finite number as 0.DIGITS times ten to the power of `point`, and its sign.
struct Decimal {
  bool negative;
  std::string digits;
  int point;
};

// From text such as "-1.25e+02".
inline Decimal from_scientific(const std::string& text) {
  const bool negative = text[0] == '-';
  const size_t e = text.find('e');
  Decimal decimal = {negative, {}, std::atoi(text.c_str() + e + 1) + 1};
  for (size_t i = negative; i < e; ++i) {
    if (text[i] != '.') decimal.digits += text[i];
  }
  return decimal;
}

// The fewest digits that read back as `value`.
inline Decimal shortest(double value) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  return from_scientific(std::string(buffer, end));
}

// What printf makes of `value`; `format` has one conversion with precision ".*".
inline std::string printed(const char* format, int precision, double value) {
  const int size = std::snprintf(nullptr, 0, format, precision, value);
  std::string text(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, precision, value);
  text.pop_back();
  return text;
}

// `count` significant digits, correctly rounded.
inline Decimal rounded(double value, int count) { return from_scientific(printed("%.*e", count - 1, value)); }

inline std::string exponent_text(int exponent) {
  const std::string digits = std::to_string(std::abs(exponent));
  return std::string(exponent < 0 ? "e-" : "e+") + (digits.size() < 2 ? "0" : "") + digits;
}

// The digits without sign, with or without exponent; `point_zero` adds ".0" where there would be no point.
inline std::string laid_out(const Decimal& decimal, bool with_exponent, bool point_zero) {
  std::string digits = decimal.digits;
  const int point = with_exponent ? 1 : decimal.point;
  if (point <= 0) digits.insert(0, static_cast<size_t>(1 - point), '0');
  const auto whole = static_cast<size_t>(point <= 0 ? 1 : point);
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  if (digits.size() > whole) digits.insert(whole, ".");
  else if (point_zero && !with_exponent) digits += ".0";
  return with_exponent ? digits + exponent_text(decimal.point - 1) : digits;
}

}  // namespace pyfloat

// repr(value)
inline std::string repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const pyfloat::Decimal decimal = pyfloat::shortest(value);
  const bool with_exponent = decimal.point <= -4 || decimal.point > 16;
  return (decimal.negative ? "-" : "") + pyfloat::laid_out(decimal, with_exponent, true);
}

}  // namespace toolchain
