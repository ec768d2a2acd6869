// Evaluates host operations that it reads from standard input, for comparison with Python's.
//
// A line is an operation and its operands, separated by tabs: "b1", "i-3", "f0x1.8p+0", or "s" and a text in hexadecimal.
// The answer is a line: a value in the same form, "raise <type> <text in hexadecimal>", or "code <code>".

#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "toolchain/hostops.h"

namespace {

using namespace toolchain;

using Scalar = std::variant<bool, int64_t, double, std::string>;
using Operands = std::vector<Scalar>;
using Operation = std::function<std::string(const Operands&)>;

std::string to_hex(const std::string& text) {
  std::string digits;
  for (const char c : text) digits += ops::impl::hex(static_cast<uint8_t>(c), 2);
  return digits;
}

Scalar parse(const std::string& text) {
  const std::string body = text.substr(1);
  switch (text[0]) {
    case 'b': return body == "1";
    case 'i': return static_cast<int64_t>(std::strtoll(body.c_str(), nullptr, 10));
    case 'f': return std::strtod(body.c_str(), nullptr);
    default: break;
  }
  std::string decoded;
  for (size_t i = 0; i < body.size(); i += 2) {
    decoded += static_cast<char>(std::strtol(body.substr(i, 2).c_str(), nullptr, 16));
  }
  return decoded;
}

std::string shown(bool value) { return value ? "b1" : "b0"; }
std::string shown(int64_t value) { return "i" + std::to_string(value); }
std::string shown(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "f%a", value);
  return text;
}
std::string shown(const std::string& value) { return "s" + to_hex(value); }
std::string shown(const Error& error) {
  if (error.exception().empty()) return "code " + error.code();
  return "raise " + error.exception() + " " + to_hex(error.message());
}
template <class T>
std::string shown(const Result<T>& result) {
  return result ? shown(*result) : shown(result.error());
}

// The types of operands that an operation takes.
template <class... T>
struct Types {};
using Ints = Types<bool, int64_t>;
using Numbers = Types<bool, int64_t, double>;
using All = Types<bool, int64_t, double, std::string>;

template <class... T, class Function>
std::string with(Types<T...>, const Scalar& scalar, Function function) {
  std::string answer = "operand of a wrong type";
  const auto attempt = [&](const auto* value) {
    if (value) answer = function(*value);
  };
  (attempt(std::get_if<T>(&scalar)), ...);
  return answer;
}

template <class Accepted, class Function>
Operation unary(Accepted types, Function function) {
  return [=](const Operands& o) { return with(types, o[0], [&](const auto& a) { return shown(function(a)); }); };
}

template <class Accepted, class Function>
Operation binary(Accepted types, Function function) {
  return [=](const Operands& o) {
    return with(types, o[0], [&](const auto& a) {
      return with(types, o[1], [&](const auto& b) { return shown(function(a, b)); });
    });
  };
}

#define UNARY(name, types) {#name, unary(types(), [](const auto& a) { return ops::name(a); })}
#define BINARY(name, types) {#name, binary(types(), [](const auto& a, const auto& b) { return ops::name(a, b); })}
#define TYPED(name, type, types) \
  {#name "_" #type, binary(types(), [](const auto& a, const auto& b) { return ops::name##_<type>(a, b); })}

const std::map<std::string, Operation>& operations() {
  static const std::map<std::string, Operation> all = {
      BINARY(add, Numbers),
      BINARY(sub, Numbers),
      BINARY(mul, Numbers),
      BINARY(truediv, Numbers),
      BINARY(floordiv, Numbers),
      BINARY(mod, Numbers),
      TYPED(pow, int64_t, Ints),
      TYPED(pow, double, Numbers),
      TYPED(min, bool, Numbers),
      TYPED(min, int64_t, Numbers),
      TYPED(min, double, Numbers),
      TYPED(max, bool, Numbers),
      TYPED(max, int64_t, Numbers),
      TYPED(max, double, Numbers),
      UNARY(neg, Numbers),
      UNARY(pos, Numbers),
      UNARY(abs_, Numbers),
      BINARY(and_, Ints),
      BINARY(or_, Ints),
      BINARY(xor_, Ints),
      UNARY(invert, Ints),
      BINARY(lshift, Ints),
      BINARY(rshift, Ints),
      BINARY(lt, All),
      BINARY(le, All),
      BINARY(gt, All),
      BINARY(ge, All),
      BINARY(eq, All),
      BINARY(ne, All),
      UNARY(not_, All),
      UNARY(int_, All),
      UNARY(float_, All),
      UNARY(bool_, All),
      UNARY(str_, All),
      UNARY(repr_, All),
      UNARY(ascii, All),
      UNARY(round_, Numbers),
      {"round_digits",
       [](const Operands& o) {
         return with(Types<int64_t, double>(), o[0],
                     [&](const auto& a) { return shown(ops::round_digits(a, *std::get_if<int64_t>(&o[1]))); });
       }},
      UNARY(sqrt, Numbers),
      UNARY(exp, Numbers),
      UNARY(expm1, Numbers),
      UNARY(log, Numbers),
      UNARY(log2, Numbers),
      UNARY(log10, Numbers),
      UNARY(log1p, Numbers),
      UNARY(sin, Numbers),
      UNARY(cos, Numbers),
      UNARY(tan, Numbers),
      UNARY(asin, Numbers),
      UNARY(acos, Numbers),
      UNARY(atan, Numbers),
      UNARY(sinh, Numbers),
      UNARY(cosh, Numbers),
      UNARY(tanh, Numbers),
      UNARY(fabs, Numbers),
      BINARY(atan2, Numbers),
      BINARY(fmod, Numbers),
      BINARY(hypot, Numbers),
      UNARY(floor, Numbers),
      UNARY(ceil, Numbers),
      UNARY(trunc, Numbers),
      UNARY(isnan, Numbers),
      UNARY(isinf, Numbers),
      UNARY(isfinite, Numbers),
      {"raise0", [](const Operands& o) { return shown(ops::raise(*std::get_if<std::string>(&o[0]))); }},
      {"raise1",
       [](const Operands& o) {
         return with(All(), o[1], [&](const auto& a) { return shown(ops::raise(*std::get_if<std::string>(&o[0]), a)); });
       }},
      {"raise2",
       [](const Operands& o) {
         return with(All(), o[1], [&](const auto& a) {
           return with(All(), o[2],
                       [&](const auto& b) { return shown(ops::raise(*std::get_if<std::string>(&o[0]), a, b)); });
         });
       }},
      {"format",
       [](const Operands& o) {
         const char conversion = (*std::get_if<std::string>(&o[1]))[0];
         return with(All(), o[0], [&](const auto& a) {
           return shown(ops::format_("<", ops::field(a, conversion, *std::get_if<std::string>(&o[2])), ">"));
         });
       }},
  };
  return all;
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> words;
  for (size_t start = 0; start != std::string::npos;) {
    const size_t tab = line.find('\t', start);
    words.push_back(line.substr(start, tab == std::string::npos ? tab : tab - start));
    start = tab == std::string::npos ? tab : tab + 1;
  }
  return words;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const std::vector<std::string> words = split(line);
    Operands operands;
    for (size_t i = 1; i < words.size(); ++i) operands.push_back(parse(words[i]));
    const auto found = operations().find(words[0]);
    std::cout << (found == operations().end() ? "unknown operation" : found->second(operands)) << "\n";
  }
}
