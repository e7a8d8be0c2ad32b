#pragma once

#include <cstdint>
#include <string_view>

namespace volvox {

// Scatters numbers: all bits of the result depend on all of `x`, and no two have the same (the last step of
// SplitMix64; Steele, Lea and Flood, OOPSLA'14). Not for secrets.
constexpr std::uint64_t scattered(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// What SplitMix64 adds from one number to the next.
inline constexpr std::uint64_t kScatterStep = 0x9e3779b97f4a7c15U;

// A hash that is the same in every process, whatever its compiler (FNV-1a). Not against those who choose the
// text.
constexpr std::uint64_t stable_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace volvox
