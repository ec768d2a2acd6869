// Formatted text: Python's format mini-language for bool, int, float and str.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/hostops_text.h"

namespace toolchain::ops {

namespace impl {

// [[fill]align][sign][z][#][0][width][grouping][.precision][type]
struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // '\0': as the type wants it
  char sign = '-';
  bool no_negative_zero = false;
  bool alternate = false;
  int64_t width = -1;
  char grouping = '\0';
  int64_t precision = -1;
  char type = '\0';
};

inline Error format_error(std::string text) { return Error::raised("ValueError", std::move(text)); }

inline std::string in_base(uint64_t value, int base) {
  char buffer[64];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, base).ptr);
}

// What is between the type and the padding of a number: "-", "0x", "1234", ".5e+01".
struct NumberText {
  std::string sign, prefix, digits, rest;
};

class SpecParser {
 public:
  SpecParser(const std::string& spec, char default_align, const char* type_name)
      : points_(utf8::split(spec)), spec_(spec), default_align_(default_align), type_name_(type_name) {}

  Result<FormatSpec> parse() {
    FormatSpec spec;
    const bool has_fill = parse_alignment(spec);
    if (at("+") || at("-") || at(" ")) spec.sign = next();
    if (at("z")) spec.no_negative_zero = next();
    if (at("#")) spec.alternate = next();
    if (!has_fill && at("0")) {
      next();
      spec.fill = "0";
      if (spec.align == '\0' && default_align_ == '>') spec.align = '=';
    }
    TOOLCHAIN_ASSIGN(spec.width, number());
    if (at(",")) spec.grouping = next();
    if (at("_")) {
      if (spec.grouping) return format_error("Cannot specify both ',' and '_'.");
      spec.grouping = next();
    }
    if (at(",") && spec.grouping) {
      return format_error(spec.grouping == '_' ? "Cannot specify both ',' and '_'." : "Cannot specify ',' with ','.");
    }
    if (at(".")) {
      next();
      TOOLCHAIN_ASSIGN(spec.precision, number());
      if (spec.precision < 0) return format_error("Format specifier missing precision");
    }
    return parse_type(spec);
  }

 private:
  bool at(std::string_view point) const { return position_ < points_.size() && points_[position_] == point; }
  char next() { return points_[position_++][0]; }

  static bool is_alignment(std::string_view point) {
    return point == "<" || point == ">" || point == "=" || point == "^";
  }

  // Whether there is a fill character.
  bool parse_alignment(FormatSpec& spec) {
    if (points_.size() >= 2 && is_alignment(points_[1])) {
      spec.fill = points_[0];
      spec.align = points_[1][0];
      position_ = 2;
      return true;
    }
    if (!points_.empty() && is_alignment(points_[0])) spec.align = next();
    return false;
  }

  // -1 if there is none.
  Result<int64_t> number() {
    int64_t value = -1;
    while (position_ < points_.size() && std::isdigit(static_cast<uint8_t>(points_[position_][0]))) {
      value = std::max<int64_t>(value, 0) * 10 + (next() - '0');
      if (value > std::numeric_limits<int32_t>::max()) return format_error("Too many decimal digits in format string");
    }
    return value;
  }

  Error unknown_type(uint32_t point) const {
    std::string shown(1, static_cast<char>(point));
    if (point >= 128) shown = "\\x" + in_base(point, 16);
    return format_error("Unknown format code '" + shown + "' for object of type '" + type_name_ + "'");
  }

  Result<FormatSpec> parse_type(FormatSpec spec) {
    const size_t left = points_.size() - position_;
    if (left > 1) {
      return format_error("Invalid format specifier '" + spec_ + "' for object of type '" + type_name_ + "'");
    }
    if (left == 1) {
      if (points_[position_].size() > 1) return unknown_type(utf8::decode(points_[position_]));
      spec.type = next();
    }
    const std::string_view allowed = spec.grouping == ',' ? "defgEG%F" : "defgEG%FboxX";
    if (spec.grouping && spec.type && allowed.find(spec.type) == std::string_view::npos) {
      return format_error(std::string("Cannot specify '") + spec.grouping + "' with '" + spec.type + "'.");
    }
    return spec;
  }

  std::vector<std::string_view> points_;
  const std::string& spec_;
  char default_align_;
  const char* type_name_;
  size_t position_ = 0;
};

inline Error unknown_type(char type, const char* type_name) {
  return format_error(std::string("Unknown format code '") + type + "' for object of type '" + type_name + "'");
}

inline std::string repeated(const std::string& text, int64_t count) {
  std::string all;
  for (int64_t i = 0; i < count; ++i) all += text;
  return all;
}

// The digits with separators, and at least `width` characters of zeros, separators and digits.
inline std::string grouped(const std::string& digits, char separator, size_t size, int64_t width) {
  std::string reversed;
  auto remaining = static_cast<int64_t>(digits.size());
  size_t in_group = 0;
  while (remaining > 0 || static_cast<int64_t>(reversed.size()) < width) {
    if (in_group == size) {
      reversed += separator;
      in_group = 0;
    }
    reversed += remaining > 0 ? digits[static_cast<size_t>(--remaining)] : '0';
    ++in_group;
  }
  return std::string(reversed.rbegin(), reversed.rend());
}

inline std::string padded(const FormatSpec& spec, char default_align, const std::string& left,
                          const std::string& text) {
  const auto used = static_cast<int64_t>(utf8::split(left).size() + utf8::split(text).size());
  const int64_t room = std::max<int64_t>(spec.width - used, 0);
  switch (spec.align ? spec.align : default_align) {
    case '<': return left + text + repeated(spec.fill, room);
    case '=': return left + repeated(spec.fill, room) + text;
    case '^': return repeated(spec.fill, room / 2) + left + text + repeated(spec.fill, room - room / 2);
    default: return repeated(spec.fill, room) + left + text;
  }
}

inline std::string assembled(const FormatSpec& spec, const NumberText& number) {
  const std::string left = number.sign + number.prefix;
  if (!spec.grouping) return padded(spec, '>', left, number.digits + number.rest);
  const bool by_four = spec.grouping == '_' && std::string_view("boxX").find(spec.type) != std::string_view::npos;
  const bool zeros = spec.fill == "0" && spec.align == '=';
  const auto others = static_cast<int64_t>(left.size() + number.rest.size());
  const bool is_number = std::isdigit(static_cast<uint8_t>(number.digits.empty() ? '0' : number.digits[0])) != 0 || spec.type == 'x' || spec.type == 'X';
  const std::string digits = is_number ? grouped(number.digits, spec.grouping, by_four && spec.type ? 4 : 3,
                                                 zeros ? spec.width - others : 0)
                                       : number.digits;
  return padded(spec, '>', left, digits + number.rest);
}

inline std::string sign_text(bool negative, char sign) {
  return negative ? "-" : sign == '-' ? "" : std::string(1, sign);
}

inline std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<uint8_t>(c)));
  return text;
}

}  // namespace impl

inline Result<std::string> formatted(const std::string& value, const std::string& text) {
  TOOLCHAIN_ASSIGN(impl::FormatSpec spec, impl::SpecParser(text, '<', "str").parse());
  if (spec.type && spec.type != 's') return impl::unknown_type(spec.type, "str");
  if (spec.sign == ' ') return impl::format_error("Space not allowed in string format specifier");
  if (spec.sign == '+' || text.find('-') != std::string::npos) {
    return impl::format_error("Sign not allowed in string format specifier");
  }
  if (spec.no_negative_zero) {
    return impl::format_error("Negative zero coercion (z) not allowed in string format specifier");
  }
  if (spec.alternate) return impl::format_error("Alternate form (#) not allowed in string format specifier");
  if (spec.align == '=') return impl::format_error("'=' alignment not allowed in string format specifier");
  if (spec.grouping) return impl::format_error(std::string("Cannot specify '") + spec.grouping + "' with 's'.");
  std::string kept;
  int64_t count = 0;
  for (std::string_view point : utf8::split(value)) {
    if (spec.precision >= 0 && count++ >= spec.precision) break;
    kept += point;
  }
  return impl::padded(spec, '<', "", kept);
}

namespace impl {

inline std::string without_point_zeros(std::string digits) {
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  return digits;
}

// "g" and no type: as many digits as asked for (the fewest that identify the number if none are), and an exponent
// for large and small numbers.
inline std::string general_text(double magnitude, const FormatSpec& spec) {
  const bool plain = spec.type == '\0';
  if (plain && spec.precision < 0) {
    pyfloat::Decimal decimal = pyfloat::shortest(magnitude);
    const bool with_exponent = decimal.point <= -4 || decimal.point > 16;
    std::string text = pyfloat::laid_out(decimal, with_exponent, true);
    if (spec.alternate && with_exponent && text.find('.') == std::string::npos) text.insert(1, ".");
    return text;
  }
  const int precision = spec.precision < 0 ? 6 : std::max(static_cast<int>(spec.precision), 1);
  pyfloat::Decimal decimal = pyfloat::rounded(magnitude, precision);
  const bool with_exponent = decimal.point <= -4 || decimal.point > precision - (plain ? 1 : 0);
  if (!spec.alternate) decimal.digits = without_point_zeros(decimal.digits);
  if (magnitude == 0) decimal.point = 1;
  std::string text = pyfloat::laid_out(decimal, with_exponent, plain);
  if (spec.alternate && text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".");
  return text;
}

inline std::string magnitude_text(double magnitude, const FormatSpec& spec) {
  const int precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
  switch (std::tolower(spec.type)) {
    case 'e': return pyfloat::printed(spec.alternate ? "%#.*e" : "%.*e", precision, magnitude);
    case 'f': return pyfloat::printed(spec.alternate ? "%#.*f" : "%.*f", precision, magnitude);
    case '%': return pyfloat::printed(spec.alternate ? "%#.*f" : "%.*f", precision, magnitude * 100) + "%";
    default: return general_text(magnitude, spec);
  }
}

inline Result<std::string> format_float(double value, const FormatSpec& spec) {
  if (spec.type && std::string_view("eEfFgGn%").find(spec.type) == std::string_view::npos) {
    return unknown_type(spec.type, "float");
  }
  std::string text = std::isnan(value)   ? "nan"
                     : std::isinf(value) ? "inf"
                                         : magnitude_text(std::fabs(value), spec);
  if (!std::isfinite(value) && spec.type == '%') text += "%";
  if (std::isupper(spec.type)) text = upper(text);
  bool negative = std::signbit(value) && !std::isnan(value);
  const bool is_zero = text.substr(0, text.find_first_of("eE")).find_first_not_of("0.%") == std::string::npos;
  if (spec.no_negative_zero && is_zero) negative = false;
  const size_t digits = std::isfinite(value) ? std::min(text.find_first_not_of("0123456789"), text.size()) : text.size();
  return assembled(spec, {sign_text(negative, spec.sign), "", text.substr(0, digits), text.substr(digits)});
}

inline Result<std::string> format_int(int64_t value, const FormatSpec& spec) {
  if (spec.precision >= 0) return format_error("Precision not allowed in integer format specifier");
  if (spec.no_negative_zero) {
    return format_error("Negative zero coercion (z) not allowed in integer format specifier");
  }
  if (spec.type == 'c') {
    if (value < 0 || value > 0x10FFFF) return Error::raised("OverflowError", "%c arg not in range(0x110000)");
    return padded(spec, '>', "", utf8::encode(static_cast<uint32_t>(value)));
  }
  const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const int base = spec.type == 'b' ? 2 : spec.type == 'o' ? 8 : std::tolower(spec.type) == 'x' ? 16 : 10;
  std::string digits = in_base(magnitude, base);
  std::string prefix = base == 10 || !spec.alternate ? "" : std::string("0") + spec.type;
  if (spec.type == 'X') digits = upper(digits);
  return assembled(spec, {sign_text(value < 0, spec.sign), prefix, digits, ""});
}

}  // namespace impl

inline Result<std::string> formatted(double value, const std::string& text) {
  TOOLCHAIN_ASSIGN(const impl::FormatSpec spec, impl::SpecParser(text, '>', "float").parse());
  return impl::format_float(value, spec);
}

inline Result<std::string> formatted(int64_t value, const std::string& text, const char* type_name = "int") {
  TOOLCHAIN_ASSIGN(const impl::FormatSpec spec, impl::SpecParser(text, '>', type_name).parse());
  if (spec.type && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos) {
    return impl::format_float(static_cast<double>(value), spec);
  }
  if (spec.type && std::string_view("bcdoxXn").find(spec.type) == std::string_view::npos) {
    return impl::unknown_type(spec.type, type_name);
  }
  return impl::format_int(value, spec);
}

inline Result<std::string> formatted(bool value, const std::string& text) {
  return text.empty() ? Result<std::string>(str_(value)) : formatted(int64_t{value}, text, "bool");
}

// One replacement field of an f-string; `conversion` is 'r', 's', 'a', or ' ' for none.
template <class A>
Result<std::string> field(const A& value, char conversion, const std::string& spec) {
  if (conversion == 's') return formatted(str_(value), spec);
  if (conversion == 'a') return formatted(ascii(value), spec);
  if (conversion == 'r') {
    TOOLCHAIN_ASSIGN(const std::string text, repr_(value));
    return formatted(text, spec);
  }
  return formatted(value, spec);
}

namespace impl {

inline Status append(std::string& all, const std::string& text) {
  all += text;
  return {};
}

inline Status append(std::string& all, const Result<std::string>& text) {
  if (!text) return text.error();
  return append(all, *text);
}

}  // namespace impl

// An f-string: texts, and the fields between them.
template <class... Parts>
Result<std::string> format_(const Parts&... parts) {
  std::string all;
  Status status;
  ((status = status ? impl::append(all, parts) : status), ...);
  if (!status) return status.error();
  return all;
}

}  // namespace toolchain::ops
