// Host operations on text, output and exceptions. Scalars are bool, int64_t, double or std::string (UTF-8).
#pragma once

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "toolchain/hostops_math.h"
#include "toolchain/utf8.h"

namespace toolchain::ops {

inline std::string str_(const std::string& value) { return value; }
inline std::string str_(const char* value) { return value; }
template <class A>
std::string str_(A value) {
  if constexpr (std::is_same_v<A, bool>) return value ? "True" : "False";
  else if constexpr (std::is_same_v<A, double>) return repr(value);
  else return std::to_string(value);
}

namespace impl {

inline std::string hex(uint32_t value, int digits) {
  std::string text;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 15];
  return text;
}

inline std::string escaped(uint32_t point) {
  switch (point) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '\\': return "\\\\";
  }
  if (point < 0x100) return "\\x" + hex(point, 2);
  return point < 0x10000 ? "\\u" + hex(point, 4) : "\\U" + hex(point, 8);
}

// Quoted, with everything but printable ASCII escaped.
inline std::string ascii_quoted(const std::string& text) {
  const bool double_quotes = text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
  const char quote = double_quotes ? '"' : '\'';
  std::string quoted(1, quote);
  for (std::string_view bytes : utf8::split(text)) {
    const uint32_t point = utf8::decode(bytes);
    if (point == static_cast<uint32_t>(quote)) quoted += '\\';
    if (point < 0x20 || point > 0x7E || point == '\\') quoted += escaped(point);
    else quoted += static_cast<char>(point);
  }
  return quoted + quote;
}

}  // namespace impl

// ascii(value)
template <class A>
std::string ascii(const A& value) {
  if constexpr (std::is_convertible_v<A, std::string>) return impl::ascii_quoted(value);
  else return str_(value);
}

// repr(value). Fails with RT304 for a text that is not all ASCII: which other characters Python escapes depends on its
// version's tables.
template <class A>
Result<std::string> repr_(const A& value) {
  if constexpr (std::is_convertible_v<A, std::string>) {
    for (const char c : std::string_view(value)) {
      if (static_cast<uint8_t>(c) > 0x7F) return Error("RT304", "repr() of the text " + impl::ascii_quoted(value),
                                                      "this host quotes ASCII texts only");
    }
  }
  return ascii(value);
}

template <class... Texts>
std::string concat(const Texts&... texts) {
  std::string all;
  ((all += texts), ...);
  return all;
}

namespace impl {

// `text` without spaces around it and underscores between digits; none if an underscore stands elsewhere.
inline std::optional<std::string> number_text(const std::string& text) {
  constexpr char spaces[] = " \t\n\r\v\f\x1c\x1d\x1e\x1f";
  const size_t first = text.find_first_not_of(spaces);
  if (first == std::string::npos) return std::nullopt;
  const std::string inner = text.substr(first, text.find_last_not_of(spaces) - first + 1);
  const auto is_digit = [&](size_t i) { return i < inner.size() && inner[i] >= '0' && inner[i] <= '9'; };
  std::string plain;
  for (size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '_') plain += inner[i];
    else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) return std::nullopt;
  }
  return plain;
}

inline Status require_ascii(const std::string& text) {
  for (const char c : text) {
    if (static_cast<uint8_t>(c) > 0x7F) {
      return Error("RT304", "a number in the text " + ascii_quoted(text), "this host reads numbers from ASCII texts only");
    }
  }
  return {};
}

}  // namespace impl

// int(text)
inline Result<int64_t> int_(const std::string& text) {
  TOOLCHAIN_TRY(impl::require_ascii(text));
  const auto wrong = [&] {
    return Error::raised("ValueError", "invalid literal for int() with base 10: " + impl::ascii_quoted(text));
  };
  const std::optional<std::string> plain = impl::number_text(text);
  if (!plain) return wrong();
  const char* begin = plain->c_str() + (plain->front() == '+');
  const char* end = plain->c_str() + plain->size();
  if (begin == end || (*begin == '-' && plain->front() == '+')) return wrong();
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range && stop == end) return overflow(*plain);
  if (error != std::errc() || stop != end) return wrong();
  return value;
}

// float(text)
inline Result<double> float_(const std::string& text) {
  TOOLCHAIN_TRY(impl::require_ascii(text));
  const auto wrong = [&] {
    return Error::raised("ValueError", "could not convert string to float: " + impl::ascii_quoted(text));
  };
  const std::optional<std::string> plain = impl::number_text(text);
  // C also reads hexadecimal numbers and "nan(...)".
  if (!plain || plain->find_first_of("xX(") != std::string::npos || std::strchr(" \t\n\r\v\f", plain->front())) {
    return wrong();
  }
  char* stop = nullptr;
  const double value = std::strtod(plain->c_str(), &stop);
  return stop == plain->c_str() + plain->size() ? Result<double>(value) : wrong();
}

// An exception of the user's program, with the text that str() of it gives.
inline Error raise(const std::string& exception) { return Error::raised(exception, ""); }
template <class A>
Error raise(const std::string& exception, const A& argument) {
  // A KeyError shows its key as it would be written.
  return Error::raised(exception, exception == "KeyError" ? ascii(argument) : str_(argument));
}
template <class A, class B, class... More>
Error raise(const std::string& exception, const A& a, const B& b, const More&... more) {
  std::string text = "(" + ascii(a) + ", " + ascii(b);
  ((text += ", " + ascii(more)), ...);
  return Error::raised(exception, text + ")");
}

// Fails with `exception` unless the condition holds.
inline Status check(bool condition, const char* exception, const char* text) {
  if (condition) return {};
  return Error::raised(exception, text);
}

// Writes to standard output.
inline void print_(const std::string& text, const std::string& end) {
  const std::string all = text + end;
  std::fwrite(all.data(), 1, all.size(), stdout);
}

// What receives the warnings of programs; may be called from any thread that runs one.
using WarningHandler = void (*)(const char* category, const std::string& text);

inline std::atomic<WarningHandler>& warning_handler() {
  static std::atomic<WarningHandler> handler{[](const char* category, const std::string& text) {
    std::fprintf(stderr, "%s: %s\n", category, text.c_str());
  }};
  return handler;
}

// Hands a warning to the handler, which writes to standard error unless the program that embeds this sets another one.
inline void warn(const std::string& text, const char* category) { warning_handler().load()(category, text); }

}  // namespace toolchain::ops
