// Texts are UTF-8; Python counts and escapes code points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toolchain::utf8 {

// How many bytes the code point that starts with `lead` has.
inline size_t width(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// The code points, each with its own bytes.
inline std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> points;
  for (size_t i = 0; i < text.size(); i += points.back().size()) points.push_back(text.substr(i, width(text[i])));
  return points;
}

inline uint32_t decode(std::string_view point) {
  if (point.size() == 1) return static_cast<uint8_t>(point[0]);
  uint32_t value = static_cast<uint8_t>(point[0]) & (0xFFu >> (point.size() + 1));
  for (size_t i = 1; i < point.size(); ++i) value = value << 6 | (static_cast<uint8_t>(point[i]) & 0x3F);
  return value;
}

inline std::string encode(uint32_t value) {
  const auto byte = [](uint32_t bits) { return static_cast<char>(bits); };
  const auto tail = [&](int shift) { return byte(0x80 | (value >> shift & 0x3F)); };
  if (value < 0x80) return {byte(value)};
  if (value < 0x800) return {byte(0xC0 | value >> 6), tail(0)};
  if (value < 0x10000) return {byte(0xE0 | value >> 12), tail(6), tail(0)};
  return {byte(0xF0 | value >> 18), tail(12), tail(6), tail(0)};
}

}  // namespace toolchain::utf8
