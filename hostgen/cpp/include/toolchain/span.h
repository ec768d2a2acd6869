// A view of constant elements that somebody else owns: C++20's std::span, as far as it is needed.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace toolchain {

// Does not own its elements: they must outlive it.
template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(const T* data, size_t size) : data_(data), size_(size) {}
  template <size_t n>
  constexpr Span(const T (&array)[n]) : data_(array), size_(n) {}
  template <size_t n>
  constexpr Span(const std::array<T, n>& array) : data_(array.data()), size_(n) {}
  Span(const std::vector<T>& vector) : data_(vector.data()), size_(vector.size()) {}

  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T& operator[](size_t index) const { return data_[index]; }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace toolchain
