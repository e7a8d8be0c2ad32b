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

// Numbers that go back unless they are kept.
class TakenIds {
 public:
  TakenIds(IdRanges& from, std::uint32_t count) : from_(from), count_(count), first_(from.take(count)) {}
  ~TakenIds() {
    if (count_ > 0) from_.give_back(first_, count_);
  }
  TakenIds(const TakenIds&) = delete;
  TakenIds& operator=(const TakenIds&) = delete;

  std::uint32_t first() const { return first_; }
  std::uint32_t keep() {
    count_ = 0;
    return first_;
  }

 private:
  IdRanges& from_;
  std::uint32_t count_, first_;
};

}  // namespace volvox
