#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cells/ir/types.h"

namespace volvox {

// A set of cell types, a bit each. Whoever walks over several sets looks at 64 types at once, so what is not
// in them costs next to nothing.
class TypeSet {
 public:
  void insert(CellTypeId type) {
    if (type / 64 >= words_.size()) words_.resize(type / 64 + 1, 0);
    words_[type / 64] |= std::uint64_t{1} << (type % 64);
  }
  void erase(CellTypeId type) {
    if (type / 64 < words_.size()) words_[type / 64] &= ~(std::uint64_t{1} << (type % 64));
  }

  // Calls visit(type) for each type that is in any of the three, in ascending order.
  template <class Visit>
  static void for_each(const TypeSet& a, const TypeSet& b, const TypeSet& c, Visit visit) {
    const std::size_t words = std::max({a.words_.size(), b.words_.size(), c.words_.size()});
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t bits = a.word(w) | b.word(w) | c.word(w); bits != 0; bits &= bits - 1) {
        visit(static_cast<CellTypeId>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
      }
    }
  }

 private:
  std::uint64_t word(std::size_t w) const { return w < words_.size() ? words_[w] : 0; }

  std::vector<std::uint64_t> words_;
};

}  // namespace volvox
