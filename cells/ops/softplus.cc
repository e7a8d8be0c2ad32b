#include <algorithm>
#include <array>
#include <cmath>

#include "cells/ops/define.h"

namespace volvox {
namespace {

constexpr std::size_t kBlock = 64;

// log(1 + e), of an e in [0, 1] that may be far less than the rounding of 1 + e: what that loses is added
// again.
template <class Real>
void log_1p(const RealMath<Real>& math, Real* e, std::size_t n) {
  std::array<Real, kBlock> sum{}, logarithm{};
  for (std::size_t k = 0; k < n; ++k) sum[k] = Real{1} + e[k];
  math.log(sum.data(), logarithm.data(), n);
  for (std::size_t k = 0; k < n; ++k) e[k] = logarithm[k] + (e[k] - (sum[k] - Real{1})) / sum[k];
}

struct Softplus {
  template <class Real>
  static void map(const RealMath<Real>& math, const Operator&, const Real* x, Real* out, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) out[k] = -std::abs(x[k]);
    math.exp(out, out, n);
    for (std::size_t first = 0; first < n; first += kBlock) {
      log_1p(math, out + first, std::min(kBlock, n - first));
    }
    for (std::size_t k = 0; k < n; ++k) out[k] = x[k] < Real{0} ? out[k] : x[k] + out[k];
  }
};

}  // namespace

extern const OpDef kSoftplusOp;
constinit const OpDef kSoftplusOp = mapped_op<Softplus>("softplus", "(x) -> log(1 + exp(x))");

}  // namespace volvox
