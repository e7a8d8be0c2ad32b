#include "shapes/random.h"

#include <cmath>
#include <numbers>

namespace volvox {

double SeededRandom::normal() {
  // Box and Muller's transform; the second variate is thrown away to keep the generator a single number.
  const double radius = std::sqrt(-2.0 * std::log(unit()));
  return radius * std::cos(2.0 * std::numbers::pi * unit());
}

double SeededRandom::exponential() {
  return -std::log(unit());
}

}  // namespace volvox
