#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace volvox {

// Seeded chance that gives the same numbers with every standard library.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : bits_(seed) {}

  std::uint64_t next() { return bits_(); }
  // In [0, 1).
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  // In [0, n); n > 0.
  std::uint64_t below(std::uint64_t n) { return bits_() % n; }
  // Exponential with this mean: the gaps of a Poisson process.
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }
  // Standard normal (Box and Muller).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace volvox
