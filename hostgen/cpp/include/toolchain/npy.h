// Reads NumPy's .npy files.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/tensor.h"

namespace toolchain {

// A tensor in host memory that it owns.
struct HostTensor {
  DType dtype;
  Dims dims;
  std::vector<uint8_t> bytes;

  TensorView view() const { return TensorView(bytes.data(), dtype, dims); }
  MutableTensorView mutable_view() { return MutableTensorView(bytes.data(), dtype, dims); }
};

namespace npy {

inline Error unreadable(const std::string& path, const std::string& why) {
  return Error("RT206", path + " is not an array that programs take: " + why, "save it with numpy.save");
}

// What stands behind 'key': in the header, up to the end of the header.
inline std::string_view value_of(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  const size_t start = header.find_first_not_of(": ", at + key.size());
  return start == std::string_view::npos ? std::string_view() : header.substr(start);
}

// NumPy has no bfloat16: such arrays are saved as their 16 bits.
inline const DType* dtype_of(std::string_view text) {
  struct Name {
    const char* text;
    DType dtype;
  };
  static constexpr Name names[] = {
      {"'|b1'", DType::boolean}, {"'|u1'", DType::uint8},   {"'|i1'", DType::int8},    {"'<i2'", DType::int16},
      {"'<i4'", DType::int32},   {"'<i8'", DType::int64},   {"'<f2'", DType::float16}, {"'<u2'", DType::bfloat16},
      {"'<f4'", DType::float32}, {"'<f8'", DType::float64},
  };
  for (const Name& name : names) {
    if (text.substr(0, 5) == name.text) return &name.dtype;
  }
  return nullptr;
}

// From "(2, 3), }"; false if it is none.
inline bool parse_dims(std::string_view text, Dims& dims) {
  if (text.empty() || text[0] != '(') return false;
  for (const char* next = text.data() + 1; *next != ')';) {
    char* end = nullptr;
    const long long extent = std::strtoll(next, &end, 10);
    if (end == next || extent < 0) return false;
    dims.push_back(extent);
    next = end + (*end == ',');
    while (*next == ' ') ++next;
  }
  return true;
}

}  // namespace npy

// The array in a file: of a dtype that tensors have (16-bit unsigned ones count as bfloat16), in C order. Fails with RT206.
inline Result<HostTensor> load_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), {}};
  if (!file) return npy::unreadable(path, "the file cannot be read");
  if (content.size() < 12 || content.compare(0, 6, "\x93NUMPY") != 0) return npy::unreadable(path, "it is no .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(content[i])); };
  const bool is_long = byte(6) > 1;
  const size_t start = is_long ? 12 : 10;
  const size_t length = byte(8) | byte(9) << 8 | (is_long ? byte(10) << 16 | byte(11) << 24 : 0);
  if (content.size() - start < length) return npy::unreadable(path, "it is too short");
  const std::string header = content.substr(start, length);
  const DType* dtype = npy::dtype_of(npy::value_of(header, "'descr'"));
  if (!dtype) return npy::unreadable(path, "its dtype is none of ours");
  if (npy::value_of(header, "'fortran_order'").substr(0, 5) != "False") return npy::unreadable(path, "not in C order");
  HostTensor tensor = {*dtype, {}, {}};
  if (!npy::parse_dims(npy::value_of(header, "'shape'"), tensor.dims)) return npy::unreadable(path, "it has no shape");
  tensor.bytes.assign(content.begin() + static_cast<ptrdiff_t>(start + length), content.end());
  if (tensor.bytes.size() != tensor.view().byte_length()) return npy::unreadable(path, "its size does not fit its shape");
  return tensor;
}

}  // namespace toolchain
