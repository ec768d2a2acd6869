// Host operations on numbers, with Python's meaning: a bool is an int, an int that leaves 64 bits is an error (RT307),
// division floors, rounding is to even. Operands are bool, int64_t or double, exactly.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "toolchain/error.h"
#include "toolchain/pyfloat.h"

namespace toolchain::ops {

// What Python computes with: bool counts as int.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, bool>, int64_t, T>;

// The type of arithmetic of A and B.
template <class A, class B>
using Common = std::conditional_t<std::is_same_v<A, double> || std::is_same_v<B, double>, double, int64_t>;

template <class A, class B>
constexpr bool are_ints = std::is_same_v<Common<A, B>, int64_t>;

inline Error overflow(const std::string& what) {
  return Error("RT307", "integer overflow: " + what + " does not fit 64 bits",
               "host integers have 64 bits in every host language");
}

inline Error zero_division(const char* text) { return Error::raised("ZeroDivisionError", text); }

namespace impl {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

inline Error overflow(int64_t a, const char* symbol, int64_t b) {
  return ops::overflow(std::to_string(a) + " " + symbol + " " + std::to_string(b));
}

// a / b to the nearest double; b is not zero. Exact for integers that a double cannot hold, as in Python.
inline double true_quotient(int64_t a, int64_t b) {
  constexpr int64_t exact = int64_t{1} << 53;
  if (-exact <= a && a <= exact && -exact <= b && b <= exact) return static_cast<double>(a) / static_cast<double>(b);
  const auto magnitude = [](int64_t x) { return x < 0 ? 0 - static_cast<UInt128>(x) : static_cast<UInt128>(x); };
  const auto bits = [](UInt128 x) {
    int n = 0;
    for (; x; x >>= 1) ++n;
    return n;
  };
  if (a == 0) return b < 0 ? -0.0 : 0.0;
  UInt128 top = magnitude(a), bottom = magnitude(b);
  // A quotient of 55 or 56 bits; the lowest one also says whether something was cut off.
  const int shift = 55 - (bits(top) - bits(bottom));
  (shift >= 0 ? top : bottom) <<= std::abs(shift);
  const uint64_t quotient = static_cast<uint64_t>(top / bottom) | (top % bottom != 0);
  const double result = std::ldexp(static_cast<double>(quotient), -shift);
  return (a < 0) != (b < 0) ? -result : result;
}

inline double float_mod(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}

inline double float_floordiv(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

inline Result<int64_t> int_pow(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (int64_t square = base, rest = exponent; rest > 0;) {
    if ((rest & 1) && __builtin_mul_overflow(result, square, &result)) return overflow(base, "**", exponent);
    rest >>= 1;
    if (rest > 0 && __builtin_mul_overflow(square, square, &square)) return overflow(base, "**", exponent);
  }
  return result;
}

inline Result<double> float_pow(double base, double exponent) {
  if (base == 0 && exponent < 0 && std::isfinite(exponent)) return zero_division("0.0 cannot be raised to a negative power");
  if (base < 0 && std::isfinite(base) && std::isfinite(exponent) && exponent != std::floor(exponent)) {
    if (std::isinf(std::pow(-base, exponent))) return Error::raised("OverflowError", "complex exponentiation");
    return Error("RT304", repr(base) + " ** " + repr(exponent) + " is a complex number",
                 "the host has no complex numbers");
  }
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent)) {
    return Error::raised("OverflowError", "(34, 'Numerical result out of range')");
  }
  return result;
}

// The sign of a - b, exactly; 2 if they have no order: nan, or a text and a number.
inline int compare(int64_t a, double b) {
  if (std::isnan(b)) return 2;
  constexpr double limit = 9223372036854775808.0;
  if (b >= limit) return -1;
  if (b < -limit) return 1;
  const auto floor = static_cast<int64_t>(std::floor(b));
  if (a != floor) return a < floor ? -1 : 1;
  return b > std::floor(b) ? -1 : 0;
}

template <class T>
int compare_same(const T& a, const T& b) {
  return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
}

template <class A, class B>
int compare(const A& a, const B& b) {
  using Left = Wide<A>;
  using Right = Wide<B>;
  if constexpr (std::is_same_v<Left, Right>) return compare_same<Left>(a, b);
  else if constexpr (std::is_same_v<Left, int64_t> && std::is_same_v<Right, double>) return compare(int64_t{a}, b);
  else if constexpr (std::is_convertible_v<A, std::string> || std::is_convertible_v<B, std::string>) return 2;
  else {
    const int opposite = compare(int64_t{b}, a);
    return opposite == 2 ? 2 : -opposite;
  }
}

}  // namespace impl

// Comparisons are exact, also between int and float; texts compare by code points.
template <class A, class B>
bool lt(const A& a, const B& b) { return impl::compare(a, b) == -1; }
template <class A, class B>
bool gt(const A& a, const B& b) { return impl::compare(a, b) == 1; }
template <class A, class B>
bool eq(const A& a, const B& b) { return impl::compare(a, b) == 0; }
template <class A, class B>
bool ne(const A& a, const B& b) { return !eq(a, b); }
template <class A, class B>
bool le(const A& a, const B& b) { return lt(a, b) || eq(a, b); }
template <class A, class B>
bool ge(const A& a, const B& b) { return gt(a, b) || eq(a, b); }

template <class A, class B>
Result<Common<A, B>> add(A a, B b) {
  if constexpr (are_ints<A, B>) {
    int64_t result;
    if (__builtin_add_overflow(int64_t{a}, int64_t{b}, &result)) return impl::overflow(a, "+", b);
    return result;
  } else {
    return static_cast<double>(a) + static_cast<double>(b);
  }
}

template <class A, class B>
Result<Common<A, B>> sub(A a, B b) {
  if constexpr (are_ints<A, B>) {
    int64_t result;
    if (__builtin_sub_overflow(int64_t{a}, int64_t{b}, &result)) return impl::overflow(a, "-", b);
    return result;
  } else {
    return static_cast<double>(a) - static_cast<double>(b);
  }
}

template <class A, class B>
Result<Common<A, B>> mul(A a, B b) {
  if constexpr (are_ints<A, B>) {
    int64_t result;
    if (__builtin_mul_overflow(int64_t{a}, int64_t{b}, &result)) return impl::overflow(a, "*", b);
    return result;
  } else {
    return static_cast<double>(a) * static_cast<double>(b);
  }
}

template <class A, class B>
Result<double> truediv(A a, B b) {
  if (b == 0) return zero_division(are_ints<A, B> ? "division by zero" : "float division by zero");
  if constexpr (are_ints<A, B>) return impl::true_quotient(a, b);
  else return static_cast<double>(a) / static_cast<double>(b);
}

template <class A, class B>
Result<Common<A, B>> floordiv(A a, B b) {
  if constexpr (are_ints<A, B>) {
    const int64_t x = a, y = b;
    if (y == 0) return zero_division("integer division or modulo by zero");
    if (x == std::numeric_limits<int64_t>::min() && y == -1) return impl::overflow(x, "//", y);
    return x / y - (x % y != 0 && (x < 0) != (y < 0));
  } else {
    if (b == 0) return zero_division("float floor division by zero");
    return impl::float_floordiv(static_cast<double>(a), static_cast<double>(b));
  }
}

template <class A, class B>
Result<Common<A, B>> mod(A a, B b) {
  if constexpr (are_ints<A, B>) {
    const int64_t x = a, y = b;
    if (y == 0) return zero_division("integer modulo by zero");
    if (y == -1) return int64_t{0};
    const int64_t rest = x % y;
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  } else {
    if (b == 0) return zero_division("float modulo");
    return impl::float_mod(static_cast<double>(a), static_cast<double>(b));
  }
}

// R is the type that the program expects: of two ints, a float only if the exponent is negative. Fails with RT304 if the
// result is of another type, or a complex number.
template <class R, class A, class B>
Result<R> pow_(A a, B b) {
  if constexpr (are_ints<A, B>) {
    if (int64_t{b} >= 0) {
      TOOLCHAIN_ASSIGN(const int64_t power, impl::int_pow(a, b));
      return static_cast<R>(power);
    }
  }
  TOOLCHAIN_ASSIGN(const double power, impl::float_pow(static_cast<double>(a), static_cast<double>(b)));
  if constexpr (std::is_same_v<R, double>) return power;
  else return Error("RT304", std::to_string(a) + " ** " + std::to_string(b) + " is no integer");
}

template <class A>
Result<Wide<A>> neg(A a) {
  if constexpr (std::is_same_v<A, double>) return -a;
  else return sub(int64_t{0}, a);
}

template <class A>
Wide<A> pos(A a) { return a; }

template <class A>
Result<Wide<A>> abs_(A a) {
  if constexpr (std::is_same_v<A, double>) return std::fabs(a);
  else if (int64_t{a} < 0) return neg(a);
  else return int64_t{a};
}

// The first of the least, as the type that the program expects.
template <class R, class A>
R min_(const A& a) { return static_cast<R>(a); }
template <class R, class A, class B, class... More>
R min_(const A& a, const B& b, const More&... more) { return lt(b, a) ? min_<R>(b, more...) : min_<R>(a, more...); }

// The first of the greatest, as the type that the program expects.
template <class R, class A>
R max_(const A& a) { return static_cast<R>(a); }
template <class R, class A, class B, class... More>
R max_(const A& a, const B& b, const More&... more) { return gt(b, a) ? max_<R>(b, more...) : max_<R>(a, more...); }

template <class A, class B>
using Logical = std::conditional_t<std::is_same_v<A, bool> && std::is_same_v<B, bool>, bool, int64_t>;

template <class A, class B>
Logical<A, B> and_(A a, B b) { return static_cast<Logical<A, B>>(int64_t{a} & int64_t{b}); }
template <class A, class B>
Logical<A, B> or_(A a, B b) { return static_cast<Logical<A, B>>(int64_t{a} | int64_t{b}); }
template <class A, class B>
Logical<A, B> xor_(A a, B b) { return static_cast<Logical<A, B>>(int64_t{a} ^ int64_t{b}); }
template <class A>
int64_t invert(A a) { return ~int64_t{a}; }

template <class A, class B>
Result<int64_t> lshift(A a, B b) {
  if (int64_t{b} < 0) return Error::raised("ValueError", "negative shift count");
  const int64_t value = a, count = b;
  if (value == 0) return int64_t{0};
  const int64_t shifted = count < 64 ? static_cast<int64_t>(static_cast<uint64_t>(value) << count) : 0;
  if (count > 63 || shifted >> count != value) return impl::overflow(value, "<<", count);
  return shifted;
}

template <class A, class B>
Result<int64_t> rshift(A a, B b) {
  if (int64_t{b} < 0) return Error::raised("ValueError", "negative shift count");
  return int64_t{a} >> (int64_t{b} > 63 ? 63 : int64_t{b});
}

inline bool not_(const std::string& a) { return a.empty(); }
template <class A>
bool not_(A a) { return a == A{}; }

template <class T>
T select(bool condition, T a, T b) { return condition ? std::move(a) : std::move(b); }

}  // namespace toolchain::ops
