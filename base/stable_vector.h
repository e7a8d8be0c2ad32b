#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace volvox {

// A vector that only grows and whose elements never move, unlike std::vector's; and unlike std::deque's they
// are found by a shift, whatever their size. Not thread-safe.
template <class T>
class StableVector {
 public:
  T& operator[](std::size_t index) { return chunks_[index / kChunk][index % kChunk]; }
  const T& operator[](std::size_t index) const { return chunks_[index / kChunk][index % kChunk]; }
  std::size_t size() const { return size_; }

  // One more, a T{}.
  T& grow() {
    if (size_ == chunks_.size() * kChunk) chunks_.push_back(std::make_unique<T[]>(kChunk));
    return (*this)[size_++];
  }
  // Until there are so many; nothing where there are.
  void grow_to(std::size_t size) {
    while (size_ < size) grow();
  }

 private:
  static constexpr std::size_t kChunk = 64;

  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace volvox
