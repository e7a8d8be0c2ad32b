#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace volvox::cpu {

// One of the values that operators compute one after another, for the memory that it needs.
struct ValueLife {
  std::size_t floats = 0;  // 0: it lies elsewhere
  std::size_t from = 0;    // the operator that computes it
  std::size_t to = 0;      // the last one that reads it; none: `from`
};

struct ValuePlaces {
  std::vector<std::size_t> at;  // by value, in floats
  std::size_t floats = 0;       // that all of them need
};

// Where values lie in one piece of memory, so that none lies where another one is still needed: each, as it
// is computed, at the first place that is free and large enough. What an operator reads is no place for what
// it computes. Memory that was just read is written next, while it is in a cache. Takes time n log n where
// few places are free at once.
ValuePlaces place_values(std::span<const ValueLife> values);

}  // namespace volvox::cpu
