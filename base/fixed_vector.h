#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <initializer_list>

namespace volvox {

// A few values in a row, at most kMost of them, without memory of their own. T is cheap to make and to copy.
template <class T, std::size_t kMost>
class FixedVector {
 public:
  using value_type = T;
  using const_iterator = const T*;

  FixedVector() = default;
  FixedVector(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }

  // Not when full.
  void push_back(const T& value) {
    assert(size_ < kMost);
    values_[size_++] = value;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return values_[i]; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }
  bool operator==(const FixedVector&) const = default;

 private:
  std::array<T, kMost> values_{};
  std::size_t size_ = 0;
};

}  // namespace volvox
