#pragma once

#include <algorithm>
#include <array>

namespace volvox::gpu {

// How often shared memory is asked for what 8 threads access at once, 16 bytes each, by the first byte of
// each: once where they meet in no bank.
inline unsigned wavefronts(const std::array<unsigned, 8>& bytes) {
  constexpr unsigned kBanks = 32;
  std::array<unsigned, kBanks> words{};
  for (unsigned first : bytes) {
    for (unsigned word = first / 4; word < first / 4 + 4; ++word) ++words[word % kBanks];
  }
  return *std::max_element(words.begin(), words.end());
}

}  // namespace volvox::gpu
