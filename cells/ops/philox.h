#pragma once

#include <array>
#include <cstdint>

namespace volvox {

// Philox 4×32 with ten rounds (Salmon et al., 2011, "Parallel random numbers: as easy as 1, 2, 3"): four
// words that look random, of a counter and a key alone. Whoever asks again for the same gets the same,
// wherever and in whatever order.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kFactors[] = {0xD2511F53, 0xCD9E8D57};
  constexpr std::uint32_t kWeyl[] = {0x9E3779B9, 0xBB67AE85};
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t a = kFactors[0] * counter[0], b = kFactors[1] * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    for (std::size_t i = 0; i < key.size(); ++i) key[i] += kWeyl[i];
  }
  return counter;
}

}  // namespace volvox
