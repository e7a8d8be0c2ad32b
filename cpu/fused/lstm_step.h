#pragma once

#include "cpu/kernel/run_block.h"
#include "cpu/math/activations.h"

namespace volvox::cpu {

// z = the product (gates i, f, g, o); c' = fma(σ(f), c, σ(i)·tanh(g)); h' = σ(o)·tanh(c').
// in[0]: c; out[0]: h', which no operand of the task overlaps; out[1]: c', which may be c.
struct LstmStep {
  template <class V, int R>
  static VOLVOX_INLINE void finish(const Tile<V, R>& z, const ProductBlock& p, std::size_t row,
                                   std::size_t half) {
    const int n = lanes_of<V>(p.valid[0], half);
    const std::size_t at = p.unit + half;
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) {
      const auto c = V::load_first(p.in[0][row + r] + at, n);
      const auto in = V::mul(sigmoid<V>(z.acc[r][0]), tanh<V>(z.acc[r][2]));
      const auto c_new = V::fma(sigmoid<V>(z.acc[r][1]), c, in);
      V::store_first(p.out[1][row + r] + at, c_new, n);
      V::store_first(p.out[0][row + r] + at, V::mul(sigmoid<V>(z.acc[r][3]), tanh<V>(c_new)), n);
    }
  }
};

}  // namespace volvox::cpu
