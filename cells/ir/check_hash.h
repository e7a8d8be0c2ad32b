#pragma once

#include <cstdint>

// Included by kernels that are compiled at load, too (gpu/program).
namespace volvox {

// The 64-bit mixing function of `check` models and the fake device: a lost, doubled, reordered or leaked
// step changes every later value.
constexpr std::uint64_t check_hash(std::uint64_t state, std::uint64_t token) {
  std::uint64_t x = (state ^ (token + 0x9e3779b97f4a7c15ULL)) * 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 29;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 32);
}

}  // namespace volvox
