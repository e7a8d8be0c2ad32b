#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "cpu/kernel/product_block.h"

namespace volvox::cpu {

// One matrix of a product as the model stores it: row-major [outputs][width].
struct WeightTerm {
  const float* data = nullptr;
  std::size_t width = 0;
};

// How outputs are dealt to column blocks, for kernels of L lanes. Plain: block b has the outputs from 4·L·b
// on, and the last one no more groups of L than it needs. Otherwise they are so many gates of H units each,
// at most kMaxGroups, and block b has the L units from L·b on of each gate.
using Gates = std::size_t;
inline constexpr Gates kPlain = 0;

// The weights of start + W0·x0 + W1·x1 … in the order in which the kernels read them:
// [block][k, terms in order][groups][lanes], zero where an output does not exist. Immutable; any thread may
// read. (DeepCPU §4.2: packed once at load, because weights are reused at every step.)
class PackedProduct {
 public:
  // For kernels of so many lanes (Kernels::lanes), and no others. `bias` has `outputs` elements or is null.
  // `outputs` must be a multiple of the gates. Copies everything.
  static Result<PackedProduct> make(std::span<const WeightTerm> terms, const float* bias, std::size_t outputs,
                                    Gates gates, std::size_t lanes);

  std::size_t outputs() const { return outputs_; }
  std::size_t units() const { return outputs_ / groups_; }  // of gates: H
  std::size_t width() const { return width_; }              // sum over the terms
  std::size_t blocks() const { return blocks_; }
  // Of a plain one: those that have the first so many outputs.
  std::size_t blocks_of(std::size_t outputs) const { return (outputs + columns() - 1) / columns(); }
  std::size_t block_bytes() const { return width_ * columns() * sizeof(float); }  // of the widest
  std::size_t bytes() const { return weights_.size_bytes() + bias_.size_bytes(); }
  double flops_per_row() const { return 2.0 * static_cast<double>(width_) * static_cast<double>(outputs_); }

  // The part of a ProductBlock that this product determines; rows, operands and results are the caller's.
  // Without the first `skip` of its operands' numbers, whose weights then are not read: the caller's operands
  // begin behind them.
  ProductBlock block(std::size_t index, std::size_t skip = 0) const;

 private:
  std::size_t columns() const { return groups_ * lanes_; }  // of a block but the last
  std::size_t groups(std::size_t block) const;              // that it has
  std::size_t output_of(std::size_t block, std::size_t gate, std::size_t unit) const;
  std::size_t valid(std::size_t block, std::size_t gate) const;
  void pack(std::span<const WeightTerm> terms, const float* bias);

  AlignedBuffer weights_, bias_;
  std::size_t outputs_ = 0, width_ = 0, blocks_ = 0;
  std::size_t groups_ = kPlainGroups, lanes_ = kMaxLanes;
  bool plain_ = true;
  bool has_bias_ = false;
};

}  // namespace volvox::cpu
