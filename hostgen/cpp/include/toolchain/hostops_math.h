// Host operations of Python's `math` module, rounding, and conversions between numbers. Operands are bool, int64_t or
// double. Errors are Python's.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "toolchain/hostops_number.h"

namespace toolchain::ops {

namespace impl {

inline Error domain_error() { return Error::raised("ValueError", "math domain error"); }
inline Error range_error() { return Error::raised("OverflowError", "math range error"); }

// A function of one number; an infinite result of a finite one is out of range, or of the domain (a pole).
template <class Function>
Result<double> math1(double x, Function function, bool can_overflow = false) {
  const double result = function(x);
  if (std::isnan(result) && !std::isnan(x)) return domain_error();
  if (std::isinf(result) && std::isfinite(x)) return can_overflow ? range_error() : domain_error();
  return result;
}

}  // namespace impl

#define TOOLCHAIN_MATH(name, can_overflow)                                                           \
  template <class A>                                                                                 \
  Result<double> name(A a) {                                                                         \
    return impl::math1(static_cast<double>(a), [](double x) { return std::name(x); }, can_overflow); \
  }
TOOLCHAIN_MATH(sqrt, false)
TOOLCHAIN_MATH(exp, true)
TOOLCHAIN_MATH(expm1, true)
TOOLCHAIN_MATH(log, false)
TOOLCHAIN_MATH(log2, false)
TOOLCHAIN_MATH(log10, false)
TOOLCHAIN_MATH(log1p, false)
TOOLCHAIN_MATH(sin, false)
TOOLCHAIN_MATH(cos, false)
TOOLCHAIN_MATH(tan, false)
TOOLCHAIN_MATH(asin, false)
TOOLCHAIN_MATH(acos, false)
TOOLCHAIN_MATH(sinh, true)
TOOLCHAIN_MATH(cosh, true)
#undef TOOLCHAIN_MATH

template <class A, class B>
Result<double> atan2(A a, B b) { return std::atan2(static_cast<double>(a), static_cast<double>(b)); }

template <class A, class B>
Result<double> fmod(A a, B b) {
  const auto x = static_cast<double>(a), y = static_cast<double>(b);
  const double result = std::fmod(x, y);
  if (std::isnan(result) && !std::isnan(x) && !std::isnan(y)) return impl::domain_error();
  return result;
}

// These have a value everywhere.
template <class A>
double atan(A a) { return std::atan(static_cast<double>(a)); }
template <class A>
double tanh(A a) { return std::tanh(static_cast<double>(a)); }
template <class A>
double fabs(A a) { return std::fabs(static_cast<double>(a)); }

namespace impl {

// Of scaled numbers, so that no square overflows or vanishes. C's own is less exact than Python's.
inline double corrected_hypot(double x, double y) {
  const double xx = x * x, yy = y * y;
  const double length = std::sqrt(xx + yy);
  const double square = length * length;
  const double errors = std::fma(x, x, -xx) + std::fma(y, y, -yy) - std::fma(length, length, -square);
  return length + (xx - square + yy + errors) / (2 * length);
}

}  // namespace impl

template <class A, class B>
double hypot(A a, B b) {
  const double x = std::fabs(static_cast<double>(a)), y = std::fabs(static_cast<double>(b));
  const double most = std::max(x, y), least = std::min(x, y);
  if (!std::isfinite(x) || !std::isfinite(y) || least == 0) return std::hypot(x, y);
  int exponent;
  std::frexp(most, &exponent);
  return std::ldexp(impl::corrected_hypot(std::ldexp(most, -exponent), std::ldexp(least, -exponent)), exponent);
}

template <class A>
bool isnan(A a) { return std::isnan(static_cast<double>(a)); }
template <class A>
bool isinf(A a) { return std::isinf(static_cast<double>(a)); }
template <class A>
bool isfinite(A a) { return std::isfinite(static_cast<double>(a)); }

namespace impl {

// A float with an integral value as an int.
inline Result<int64_t> to_int(double value) {
  if (std::isnan(value)) return Error::raised("ValueError", "cannot convert float NaN to integer");
  if (std::isinf(value)) return Error::raised("OverflowError", "cannot convert float infinity to integer");
  if (value >= 9223372036854775808.0 || value < -9223372036854775808.0) return ops::overflow(repr(value));
  return static_cast<int64_t>(value);
}

}  // namespace impl

template <class A>
Result<int64_t> floor(A a) {
  if constexpr (std::is_same_v<A, double>) return impl::to_int(std::floor(a));
  else return int64_t{a};
}
template <class A>
Result<int64_t> ceil(A a) {
  if constexpr (std::is_same_v<A, double>) return impl::to_int(std::ceil(a));
  else return int64_t{a};
}
// trunc(a), which is int(a) of a number.
template <class A>
Result<int64_t> trunc(A a) {
  if constexpr (std::is_same_v<A, double>) return impl::to_int(std::trunc(a));
  else return int64_t{a};
}

// round(a): to the nearest int, ties to even.
template <class A>
Result<int64_t> round_(A a) {
  if constexpr (std::is_same_v<A, double>) {
    const bool tie = std::fabs(a - std::trunc(a)) == 0.5;
    return impl::to_int(tie ? 2.0 * std::round(a / 2.0) : std::round(a));
  } else {
    return int64_t{a};
  }
}

namespace impl {

// The last `dropped` digits of the whole part of `value` rounded away, ties to even: from all of its digits.
inline std::string round_whole(double value, int dropped) {
  // No double has more than 1074 digits behind the point.
  std::string text = pyfloat::printed("%.*f", 1074, std::fabs(value));
  const size_t point = text.find('.');
  const auto cut = static_cast<size_t>(dropped);
  if (point < cut) return "0";
  std::string kept = "0" + text.substr(0, point - cut);
  std::string rest = text.substr(point - cut, cut) + text.substr(point + 1);
  std::string half(rest.size(), '0');
  half[0] = '5';
  const bool odd = (kept.back() - '0') % 2 != 0;
  if (rest > half || (rest == half && odd)) {
    size_t i = kept.size() - 1;
    for (; kept[i] == '9'; --i) kept[i] = '0';
    ++kept[i];
  }
  return kept + std::string(cut, '0');
}

}  // namespace impl

// round(a, digits) of a float.
inline Result<double> round_digits(double a, int64_t digits) {
  if (!std::isfinite(a) || digits > 323) return a;
  if (digits < -308) return 0.0 * a;
  const int count = static_cast<int>(digits);
  const std::string text =
      count >= 0 ? pyfloat::printed("%.*f", count, std::fabs(a)) : impl::round_whole(a, -count);
  const double rounded = std::copysign(std::strtod(text.c_str(), nullptr), a);
  if (std::isinf(rounded)) return Error::raised("OverflowError", "rounded value too large to represent");
  return rounded;
}

// round(a, digits) of an int: to a multiple of a power of ten if digits are negative, ties to even.
inline Result<int64_t> round_digits(int64_t a, int64_t digits) {
  if (digits >= 0) return a;
  if (digits < -19) return int64_t{0};
  impl::Int128 unit = 1;
  for (int64_t i = digits; i < 0; ++i) unit *= 10;
  impl::Int128 below = a / unit * unit;
  if (below > a) below -= unit;
  const impl::Int128 rest = a - below;
  const bool odd = below / unit % 2 != 0;
  const impl::Int128 rounded = rest * 2 > unit || (rest * 2 == unit && odd) ? below + unit : below;
  if (rounded != static_cast<int64_t>(rounded)) {
    return overflow("round(" + std::to_string(a) + ", " + std::to_string(digits) + ")");
  }
  return static_cast<int64_t>(rounded);
}

template <class A>
Result<int64_t> int_(A a) { return trunc(a); }

template <class A>
Result<double> float_(A a) { return static_cast<double>(a); }

template <class A>
bool bool_(const A& a) { return !not_(a); }

}  // namespace toolchain::ops
