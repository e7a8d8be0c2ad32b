#pragma once

#include <cstdint>

#include "base/mixing.h"

namespace volvox {

// A load must be the same on every machine for the same seed, which the distributions of <random> do not
// promise. This is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA
// 2014) with its own conversions. A plain value; one thread at a time.
class SeededRandom {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}

  // A generator for item `index` of the stream `seed`: items can be made in any order, and made again.
  static SeededRandom for_item(std::uint64_t seed, std::uint64_t index) {
    return SeededRandom(SeededRandom(seed).next() ^ SeededRandom(~index).next());
  }

  std::uint64_t next() { return scattered(state_ += kScatterStep); }

  // In [0, bound); bound must not be 0. Off by less than bound / 2^64 from uniform.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

  // In (0, 1): never an end, so that its logarithm is finite.
  double unit() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1.0p-53; }

  double normal();       // mean 0, deviation 1
  double exponential();  // mean 1

 private:
  std::uint64_t state_;
};

}  // namespace volvox
