#pragma once

#include "cpu/kernel/run_block.h"
#include "cpu/math/activations.h"

namespace volvox::cpu {

// z = the product (gates i, f, g); c' = fma(σ(f), c, σ(i)·tanh(g)). in[0]: c; out[0]: c', which may be c, but
// no operand of the product.
struct LatticeWordStep {
  static constexpr std::size_t kGroups = 3;

  template <class V, int R>
  static VOLVOX_INLINE void finish(const Tile<V, R, kGroups>& z, const ProductBlock& p, std::size_t row) {
    const int n = p.valid[0];
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) {
      const auto before = V::load_first(p.in[0][row + r] + p.unit, n);
      const auto c =
          V::fma(sigmoid<V>(z.acc[r][1]), before, V::mul(sigmoid<V>(z.acc[r][0]), tanh<V>(z.acc[r][2])));
      V::store_first(p.out[0][row + r] + p.unit, c, n);
    }
  }
};

}  // namespace volvox::cpu
