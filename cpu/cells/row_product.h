#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

#include "cpu/kernel/kernels.h"
#include "cpu/packed_product.h"

namespace volvox::cpu {

// A product of rows, on the calling thread: out[r] = start[r], or the bias, + W·(the terms' rows r). `skip`
// of its operands' numbers are left out, those that come first: the terms begin behind them, and may end
// before the last. Outputs behind the first `blocks` may be left out. `parked` has room for kMaxBlockRows
// rows of a block.
inline void multiply_rows(const Kernels& kernels, const PackedProduct& product,
                          std::span<const ProductTerm> terms, const float* const* start, float* const* out,
                          std::size_t rows, float* parked, std::size_t skip = 0,
                          std::size_t blocks = std::numeric_limits<std::size_t>::max()) {
  blocks = std::min(blocks, product.blocks());
  for (std::size_t first = 0; first < rows; first += kMaxBlockRows) {
    for (std::size_t b = 0; b < blocks; ++b) {
      ProductBlock block = product.block(b, skip);
      block.terms = terms.data();
      block.term_count = terms.size();
      block.start = start;
      block.row_begin = first;
      block.row_end = first + kMaxBlockRows < rows ? first + kMaxBlockRows : rows;
      block.scratch = parked;
      block.out[0] = out;
      kernels.product(block);
    }
  }
}

}  // namespace volvox::cpu
