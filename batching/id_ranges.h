#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace volvox {

// Tables are indexed by number, so numbers must stay small while their owners come and go. Hands out runs of
// numbers, the lowest that are free. A handful of owners, so a search is good enough. Not thread-safe.
class IdRanges {
 public:
  // The first of `count` numbers in a row.
  std::uint32_t take(std::uint32_t count) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < taken_.size() && i - first < count; ++i) {
      if (taken_[i]) first = i + 1;
    }
    taken_.resize(std::max(taken_.size(), first + count), false);
    mark(first, count, true);
    return static_cast<std::uint32_t>(first);
  }
  // Takes back what take(count) gave.
  void give_back(std::uint32_t first, std::uint32_t count) { mark(first, count, false); }

 private:
  void mark(std::size_t first, std::uint32_t count, bool taken) {
    std::fill_n(taken_.begin() + static_cast<std::ptrdiff_t>(first), count, taken);
  }

  std::vector<bool> taken_;
};

}  // namespace volvox
