#include <cmath>
#include <cstdlib>

#include "cells/ops/define.h"

namespace volvox {
namespace {

constexpr double kMostMultiplied = 64;

// Squares and multiplies, from the lowest bit of the exponent.
template <class Real>
Real multiplied(Real x, long exponent) {
  Real product{1};
  for (long left = std::labs(exponent); left > 0; left >>= 1) {
    if ((left & 1) != 0) product *= x;
    x *= x;
  }
  return exponent < 0 ? Real{1} / product : product;
}

struct Pow {
  template <class Real>
  static void map(const RealMath<Real>& math, const Operator& op, const Real* x, Real* out, std::size_t n) {
    const double exponent = op.attributes.reals[0];
    if (std::abs(exponent) <= kMostMultiplied && exponent == std::trunc(exponent)) {
      const auto whole = static_cast<long>(exponent);
      for (std::size_t k = 0; k < n; ++k) out[k] = multiplied(x[k], whole);
    } else if (exponent == 0.5) {
      for (std::size_t k = 0; k < n; ++k) out[k] = std::sqrt(x[k]);
    } else {
      math.log(x, out, n);
      for (std::size_t k = 0; k < n; ++k) out[k] = static_cast<Real>(exponent) * out[k];
      math.exp(out, out, n);
    }
  }
};

}  // namespace

// Where x is not a product of itself, the relative error grows with exponent · log x.
extern const OpDef kPowOp;
constinit const OpDef kPowOp = mapped_op<Pow>(
    "pow",
    "(x; exponent) -> x multiplied as often as a whole exponent up to 64 says, its root for 0.5, "
    "else exp(exponent · log(x))",
    with_reals<1>);

}  // namespace volvox
