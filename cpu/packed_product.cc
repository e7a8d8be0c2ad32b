#include "cpu/packed_product.h"

#include <algorithm>
#include <string>
#include <utility>

namespace volvox::cpu {

Result<PackedProduct> PackedProduct::make(std::span<const WeightTerm> terms, const float* bias,
                                          std::size_t outputs, Gates gates, std::size_t lanes) {
  if (outputs == 0) return invalid("a product needs at least one output");
  if (gates > kMaxGroups) return invalid("a product has at most " + std::to_string(kMaxGroups) + " gates");
  if (gates != kPlain && outputs % gates != 0) {
    return invalid("a product of " + std::to_string(gates) + " gates needs a multiple of as many outputs");
  }
  PackedProduct packed;
  packed.outputs_ = outputs;
  packed.lanes_ = lanes;
  packed.plain_ = gates == kPlain;
  if (!packed.plain_) packed.groups_ = gates;
  packed.has_bias_ = bias != nullptr;
  for (const WeightTerm& term : terms) packed.width_ += term.width;
  packed.blocks_ = packed.plain_ ? packed.blocks_of(outputs) : (packed.units() + lanes - 1) / lanes;
  const std::size_t last = packed.blocks_ - 1;
  const std::size_t columns = last * packed.columns() + packed.groups(last) * lanes;
  auto weights = AlignedBuffer::make(packed.width_ * columns * sizeof(float));
  if (!weights) return tl::unexpected(weights.error());
  packed.weights_ = std::move(*weights);
  auto biases = AlignedBuffer::make(packed.blocks_ * packed.columns() * sizeof(float));
  if (!biases) return tl::unexpected(biases.error());
  packed.bias_ = std::move(*biases);
  packed.pack(terms, bias);
  return packed;
}

std::size_t PackedProduct::output_of(std::size_t block, std::size_t gate, std::size_t unit) const {
  return plain_ ? block * columns() + gate * lanes_ + unit : gate * units() + block * lanes_ + unit;
}

std::size_t PackedProduct::valid(std::size_t block, std::size_t gate) const {
  const std::size_t end = plain_ ? outputs_ : (gate + 1) * units();
  const std::size_t first = output_of(block, gate, 0);
  return first >= end ? 0 : std::min(end - first, lanes_);
}

std::size_t PackedProduct::groups(std::size_t block) const {
  if (!plain_ || block + 1 < blocks_) return groups_;
  return (outputs_ - block * columns() + lanes_ - 1) / lanes_;
}

void PackedProduct::pack(std::span<const WeightTerm> terms, const float* bias) {
  for (std::size_t b = 0; b < blocks_; ++b) {
    float* block = weights_.f32() + b * width_ * columns();
    const std::size_t wide = groups(b) * lanes_;
    for (std::size_t g = 0; g < groups(b); ++g) {
      for (std::size_t u = 0; u < valid(b, g); ++u) {
        const std::size_t column = g * lanes_ + u;
        const std::size_t output = output_of(b, g, u);
        if (bias != nullptr) bias_.f32()[b * columns() + column] = bias[output];
        float* to = block + column;
        for (const WeightTerm& term : terms) {
          const float* from = term.data + output * term.width;
          for (std::size_t k = 0; k < term.width; ++k, to += wide) *to = from[k];
        }
      }
    }
  }
}

ProductBlock PackedProduct::block(std::size_t index, std::size_t skip) const {
  ProductBlock p;
  p.groups = groups(index);
  p.weights = weights_.f32() + index * width_ * columns() + skip * p.groups * lanes_;
  p.bias = has_bias_ ? bias_.f32() + index * columns() : nullptr;
  p.column = output_of(index, 0, 0);
  p.upcoming_column = p.column;
  p.gate_stride = plain_ ? lanes_ : units();
  for (std::size_t g = 0; g < p.groups; ++g) p.valid[g] = static_cast<std::uint8_t>(valid(index, g));
  p.unit = index * lanes_;
  return p;
}

}  // namespace volvox::cpu
