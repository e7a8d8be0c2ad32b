#pragma once

#include <bit>
#include <cstdint>

#include "base/mixing.h"

namespace volvox {

// Weights that are the same everywhere from the same seed, which the distributions of the standard library do
// not promise. xoshiro256++ (Blackman and Vigna, 2019), seeded by splitmix64. Not for secrets.
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      word = scattered(seed += kScatterStep);
    }
  }

  std::uint64_t bits() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in [-bound, bound).
  float uniform(float bound) {
    const auto centred = static_cast<std::int32_t>(bits() >> 40) - (1 << 23);
    return static_cast<float>(centred) * (bound / static_cast<float>(1 << 23));
  }

  // Nearly normal, with mean 0 and variance 1: the sum of four uniform numbers, at most 2·√3 away from 0.
  float normal() {
    const std::uint64_t four = bits();
    const auto sum = static_cast<std::int32_t>((four & 0xffff) + ((four >> 16) & 0xffff) +
                                               ((four >> 32) & 0xffff) + (four >> 48));
    return static_cast<float>(sum - 2 * 0xffff) * (1.7320508F / 65536.0F);
  }

 private:
  std::uint64_t state_[4];
};

}  // namespace volvox
