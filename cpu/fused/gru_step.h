#pragma once

#include "cpu/kernel/run_block.h"
#include "cpu/math/activations.h"

namespace volvox::cpu {

// g = the product; r = σ(x_r + g_r), z = σ(x_z + g_z), n = tanh(fma(r, g_n, x_n)), h' = fma(z, h − n, n).
// in[0], in[1], in[2]: x_r, x_z, x_n; in[3]: h; out[0]: h', which no operand of the task overlaps.
struct GruStep {
  static constexpr std::size_t kGroups = 3;

  template <class V, int R>
  static VOLVOX_INLINE void finish(const Tile<V, R, kGroups>& g, const ProductBlock& p, std::size_t row) {
    const int lanes = p.valid[0];
    const auto in = [&](std::size_t number, int r) {
      return V::load_first(p.in[number][row + static_cast<std::size_t>(r)] + p.unit, lanes);
    };
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) {
      const auto reset = sigmoid<V>(V::add(in(0, r), g.acc[r][0]));
      const auto z = sigmoid<V>(V::add(in(1, r), g.acc[r][1]));
      const auto n = tanh<V>(V::fma(reset, g.acc[r][2], in(2, r)));
      V::store_first(p.out[0][row + r] + p.unit, V::fma(z, V::sub(in(3, r), n), n), lanes);
    }
  }
};

}  // namespace volvox::cpu
