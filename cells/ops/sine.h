#pragma once

#include <cmath>
#include <cstdint>

namespace volvox {

// sin(x + quarters · π/2). Of a float by polynomials of our own over [-π/4, π/4], in double arithmetic, which
// is the same on every machine: within 1e-7 up to |x| = 1e8, of what is beyond for x modulo 2π as a double
// has it.
inline float sine_of(float x, std::int64_t quarters) {
  constexpr double kQuarter = 1.57079632679489661923, kFar = 1e8;
  double far = static_cast<double>(x);
  if (std::abs(far) > kFar) far = std::fmod(far, 4 * kQuarter);
  const double turns = std::nearbyint(far / kQuarter);
  if (!std::isfinite(turns)) return std::nanf("");
  const double r = far - turns * kQuarter, s = r * r;
  const std::int64_t quarter = (static_cast<std::int64_t>(turns) + quarters) & 3;
  // Taylor's series: what is left out is below 1e-13.
  const double sine =
      r * (1 + s * (-1.0 / 6 +
                    s * (1.0 / 120 + s * (-1.0 / 5040 + s * (1.0 / 362880 + s * (-1.0 / 39916800 +
                                                                                 s * (1.0 / 6227020800)))))));
  const double cosine =
      1 + s * (-1.0 / 2 +
               s * (1.0 / 24 +
                    s * (-1.0 / 720 + s * (1.0 / 40320 + s * (-1.0 / 3628800 + s * (1.0 / 479001600))))));
  const double made = (quarter & 1) == 0 ? sine : cosine;
  return static_cast<float>(quarter < 2 ? made : -made);
}
inline double sine_of(double x, std::int64_t quarters) {
  return quarters == 0 ? std::sin(x) : std::cos(x);  // the reference
}

}  // namespace volvox
