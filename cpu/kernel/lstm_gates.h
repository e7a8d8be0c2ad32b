#pragma once

#include "cpu/kernel/run_block.h"
#include "cpu/math/activations.h"

namespace volvox::cpu {

// z = the product (gates i, f0, f1 …, g, o); c' = fma(σ(f0), c0, fma(σ(f1), c1, … σ(i)·tanh(g)));
// h' = σ(o)·tanh(c'). in[0], in[1] …: c0, c1 …; out[0]: h', which no operand of the task overlaps; out[1]:
// c', which may be one of the c.
template <std::size_t kForgetGates>
struct LstmGates {
  static constexpr std::size_t kGroups = kForgetGates + 3;

  template <class V, int R>
  static VOLVOX_INLINE void finish(const Tile<V, R, kGroups>& z, const ProductBlock& p, std::size_t row) {
    const int n = p.valid[0];
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) {
      auto c = V::mul(sigmoid<V>(z.acc[r][0]), tanh<V>(z.acc[r][kForgetGates + 1]));
      VOLVOX_UNROLL
      for (std::size_t f = kForgetGates; f > 0; --f) {
        const auto before = V::load_first(p.in[f - 1][row + r] + p.unit, n);
        c = V::fma(sigmoid<V>(z.acc[r][f]), before, c);
      }
      V::store_first(p.out[1][row + r] + p.unit, c, n);
      V::store_first(p.out[0][row + r] + p.unit, V::mul(sigmoid<V>(z.acc[r][kForgetGates + 2]), tanh<V>(c)),
                     n);
    }
  }
};

}  // namespace volvox::cpu
