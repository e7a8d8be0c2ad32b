#pragma once

#include "cpu/kernel/run_block.h"

namespace volvox::cpu {

// out[0] = the product.
struct ProductStep {
  static constexpr std::size_t kGroups = kPlainGroups;
  template <class V, int R>
  static VOLVOX_INLINE void finish(const Tile<V, R, kGroups>& z, const ProductBlock& p, std::size_t row,
                                   std::size_t half) {
    VOLVOX_UNROLL
    for (int r = 0; r < R; ++r) {
      VOLVOX_UNROLL
      for (std::size_t g = 0; g < kGroups; ++g) {
        float* to = p.out[0][row + r] + p.column + g * p.gate_stride + half;
        V::store_first(to, z.acc[r][g], lanes_of<V>(p.valid[g], half));
      }
    }
  }
};

}  // namespace volvox::cpu
