#pragma once

#include "cpu/kernel/run_block.h"

namespace volvox::cpu {

// out[0] = the product, of a block of so many groups.
template <std::size_t G>
struct PlainStep {
  static constexpr std::size_t kGroups = G;
  template <class V, int R>
  static VOLVOX_INLINE void finish(const Tile<V, R, kGroups>& z, const ProductBlock& p, std::size_t row) {
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) {
      VOLVOX_UNROLL
      for (std::size_t g = 0; g < kGroups; ++g) {
        float* to = p.out[0][row + r] + p.column + g * p.gate_stride;
        V::store_first(to, z.acc[r][g], p.valid[g]);
      }
    }
  }
};

// The last block of a plain product may have fewer groups than the others: run_block() looks.
struct ProductStep : PlainStep<kPlainGroups> {
  template <std::size_t G>
  using Narrow = PlainStep<G>;
};

}  // namespace volvox::cpu
