#pragma once

#include <cstddef>

namespace volvox::cpu {

inline constexpr std::size_t kLineFloats = 16;  // of a cache line

// So many floats, and what is left of the last one's line.
constexpr std::size_t whole_lines(std::size_t floats) {
  return (floats + kLineFloats - 1) / kLineFloats * kLineFloats;
}

}  // namespace volvox::cpu
